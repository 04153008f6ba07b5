-- Removes all ids, and moves the scan to the beginning.
--
-- KEYS[1] tracker  KEYS[2] ids
-- returns how many ids there were
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
local failure, tracker = read_tracker()
if failure then return failure end
redis.call('UNLINK', TRACKER, IDS)
return tracker.count
