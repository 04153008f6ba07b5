-- Adds ids, or gives them a new stamp.
--
-- KEYS[1] tracker  KEYS[2] ids
-- ARGV[1…] ids  1 to IDS_MAX
-- returns how many are new
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
if not are_ids(1, 1) then
  return invalid('there are not 1 to ' .. IDS_MAX .. ' ids of 1 to ' .. ID_BYTES_MAX .. ' bytes')
end
local failure, tracker = read_tracker()
if failure then return failure end
stamp_ids(tracker, ARGV)
failure = write_all()
return failure or redis.call('ZCARD', IDS) - tracker.count
