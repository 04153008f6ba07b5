-- Reads the ids with the oldest stamps, and gives them a new one. Reads a single id if no removal has followed the last
-- sample: one of its ids may have made the check fail, and should not hold up the others.
--
-- KEYS[1] tracker  KEYS[2] ids
-- ARGV[1] limit  ids, 1 to IDS_MAX
-- returns {their new stamp, 0 without ids, {ids}}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
local limit = whole(ARGV[1], IDS_MAX)
if not limit or limit < 1 then return invalid('limit is not a whole number from 1 to ' .. IDS_MAX) end
local failure, tracker = read_tracker()
if failure then return failure end
if tracker.sampled > 0 then limit = 1 end
local ids = redis.call('ZRANGE', IDS, 0, limit - 1)
if #ids == 0 then return {0, ids} end
stamp_ids(tracker, ids)
keep('sampled', digits(tracker.next_stamp))
failure = write_all(TRACKER)
return failure or {tracker.next_stamp, ids}
