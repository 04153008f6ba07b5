-- Removes ids of a sample. One that was added, scanned or sampled since stays.
--
-- KEYS[1] tracker  KEYS[2] ids
-- ARGV[1] stamp  of the sample
-- ARGV[2…] ids   0 to IDS_MAX
-- returns how many were removed
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
local stamp = whole(ARGV[1], INTEGER_MAX)
if not stamp then return invalid('stamp is not a whole number') end
if not are_ids(2, 0) then
  return invalid('there are more than ' .. IDS_MAX .. ' ids, or not of 1 to ' .. ID_BYTES_MAX .. ' bytes')
end
local failure, tracker = read_tracker()
if failure then return failure end
local ids = {unpack(ARGV, 2)}
local failure, stamps = read_each('ZMSCORE', IDS, ids)
if failure then return failure end
for i, id in ipairs(ids) do
  if stamps[i] and tonumber(stamps[i]) == stamp then gather('ZREM', IDS, id) end
end
if tracker.sampled == stamp then gather('HDEL', TRACKER, 'sampled') end
failure = write_all()
return failure or tracker.count - redis.call('ZCARD', IDS)
