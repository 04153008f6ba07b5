-- Arrive: the partition gets a part of the key space, and delivers nothing until all of it has arrived.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  of the change, the same for both partitions
-- ARGV[2] ranges      that the partition owns from now on
-- ARGV[3] left_at     when the other partition gave the part away, by its clock: no earlier time is used here
-- ARGV[4] revision    of the configuration, which counts if the partition's own is older
-- ARGV[5] config      as in CONFIG
-- ARGV[6] before      0 for a partition that is never created here, 2 for one that owned nothing before: if it owns
--                     something, it belongs to an earlier queue; 1 for any other
-- ARGV[7] tokens      in the bucket of the other partition when the part left, -1 without a rate: one that owned
--                     nothing begins with them, as a full bucket would let through more than the rate
-- Returns 1 if this step made the change, 0 if an earlier one did.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local failure, is_there = look()
if failure then return failure end
local root = redis.call('HMGET', ROOT, 'generation', 'clock', 'gone', 'revision', 'ranges')
local generation, clock, is_gone, revision, owned = unpack(root)
if is_gone then return redis.error_reply('STALE the queue is being deleted') end
if generation and tonumber(generation) > tonumber(ARGV[1]) then
  return redis.error_reply('STALE the generation is ' .. generation)
end
if is_there and generation == ARGV[1] then return 0 end
if not is_there and generation == ARGV[1] then
  return redis.error_reply('STALE the partition was deleted')
end
if not is_there and ARGV[6] == '0' then return redis.error_reply('STALE the partition is not there') end
if is_there and ARGV[6] == '2' and owned ~= '' then
  return redis.error_reply('STALE the partition is of an earlier queue')
end
redis.call('HDEL', ROOT, '')
if not is_there then redis.call('HSET', ROOT, 'version', LAYOUT, 'sequence', 0, 'period', 0, 'map', '') end
if not is_there or owned == '' then
  redis.call('HDEL', ROOT, 'tokens', 'tokens_at')
  if ARGV[7] ~= '-1' then redis.call('HSET', ROOT, 'tokens', ARGV[7], 'tokens_at', ARGV[3]) end
end
-- A partition that was emptied has not been configured since.
if not is_there or tonumber(revision) < tonumber(ARGV[4]) then
  redis.call('HSET', ROOT, 'revision', ARGV[4], 'config', ARGV[5])
end
-- A partition that was emptied is about to expire.
redis.call('PERSIST', ROOT)
for i = 0, 1 do
  redis.pcall('PEXPIRE', ROOT .. ':ops:' .. i, OPS_KEPT)
end
redis.call('HSET', ROOT, 'generation', ARGV[1], 'ranges', ARGV[2], 'frozen', 1, 'taken', 0, 'clock',
  number(math.max(tonumber(clock or 0), tonumber(ARGV[3]))))
redis.pcall('PUBLISH', CHANNEL, WAKE_ALL)
return 1
