-- Adds ids, or gives them a new stamp.
--
-- KEYS[1] tracker  KEYS[2] ids
-- ARGV[1…] ids  1 to 1000
-- returns how many are new
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
if not are_ids(1, 1) then return invalid('there are not 1 to 1000 ids of 1 to 512 bytes') end
local failure, tracker = read_tracker()
if failure then return failure end
stamp_ids(tracker, ARGV)
failure = write_all()
return failure or redis.call('ZCARD', IDS) - tracker.count
