-- Moves the values whose deadline passed not longer ago than `within` to the garbage.
--
-- KEYS[1] tracking  KEYS[2] deadlines  KEYS[3] garbage
-- ARGV[1] within  seconds
-- returns {value, …}, by deadline
-- errors WRONGTYPE, INVALID_ARGUMENT
local within = ARGV[1]
if not within or not string.find(within, '^%d+$') or #within > 15 then
  return invalid('within is not a whole number of seconds')
end
local failure = wrong_types()
if failure then return failure end
local now = tonumber(redis.call('TIME')[1])
local found = redis.call('ZRANGEBYSCORE', DEADLINES, digits(now - within), now, 'WITHSCORES')
local values = {}
-- What is collected makes room: a server whose memory is full lets a script add once it has removed.
if #found > 0 then redis.call('SREM', GARBAGE, '') end
for i = 1, #found, 2 do
  local value = found[i]
  redis.call('SADD', GARBAGE, value .. ':' .. digits(tonumber(found[i + 1])))
  values[#values + 1] = value
end
if #values > 0 then redis.call('ZREMRANGEBYSCORE', DEADLINES, digits(now - within), now) end
return values
