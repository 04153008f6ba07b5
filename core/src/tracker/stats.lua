-- Reads how many ids are tracked, and the position of the scan.
--
-- KEYS[1] tracker  KEYS[2] ids
-- returns {ids, rounds, the oldest stamp or nil, the row of the scan or nil}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
local failure, tracker = read_tracker()
if failure then return failure end
local first = redis.call('ZRANGE', IDS, 0, 0, 'WITHSCORES')[2]
return {tracker.count, tracker.rounds, first and tonumber(first) or false, tracker.row ~= '' and tracker.row}
