-- Leave: the partition gives a part of the key space away, and delivers nothing until all of it has left.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  of the change, the same for both partitions
-- ARGV[2] ranges      that the partition keeps
-- ARGV[3] leaving     ranges that it gives away
-- Returns {when the part left, 0 if all of it has left already, or the partition does not exist; the tokens in its
-- bucket then, -1 without a rate}.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local failure, is_there = look()
if failure then return failure end
if not is_there then return {0, -1} end
local root = redis.call('HMGET', ROOT, 'generation', 'left_at', 'clock', 'now', 'config', 'tokens', 'tokens_at')
local generation, left_at, clock, set, config, tokens, tokens_at = unpack(root)
configure(config, tokens, tokens_at)
-- Nothing is delivered during a move, so this value does not change.
local function bucket_at(at)
  if FLOW == 0 then return -1 end
  return math.floor(math.min(BUCKET, TOKENS + math.max(0, at - TOKENS_AT) * FLOW))
end
if tonumber(generation) > tonumber(ARGV[1]) then return redis.error_reply('STALE the generation is ' .. generation) end
if generation == ARGV[1] then return {tonumber(left_at or 0), left_at and bucket_at(tonumber(left_at)) or -1} end
local now, _, is_set_back = time_of_step(tonumber(clock), tonumber(set))
redis.call('HDEL', ROOT, '')
redis.call('HSET', ROOT, 'generation', ARGV[1], 'ranges', ARGV[2], 'leaving', ARGV[3], 'left_at', number(now), 'frozen',
  1, 'sent', 0, 'cursor', 'events 0', 'clock', is_set_back and clock or number(now))
-- All waiting processes check again, and find the other partition.
redis.pcall('PUBLISH', CHANNEL, WAKE_ALL)
return {now, bucket_at(now)}
