-- Pauses a queue, whether it holds tasks or not: claims find nothing in it. Or resumes it, and tells who waits for it
-- what is available.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry  KEYS[7] none
-- ARGV[1] queue
-- ARGV[2] paused  1 to pause it, 0 to resume it
-- returns 1, or 0 if it was so before
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, AGAIN
local name, pauses = ARGV[1], ARGV[2] == '1'
if not is_name(name) then return invalid('the queue has no name') end
if not pauses and ARGV[2] ~= '0' then return invalid('paused is neither 0 nor 1') end
local failure, is_made = begin()
if failure then return failure end
local failure, score = read('ZSCORE', PAUSED, name)
if failure then return failure end
if (score and true or false) == pauses then return 0 end

if pauses then
  gather('ZADD', PAUSED, 0, name)
  if not is_made then gather('HSET', META, 'version', LAYOUT) end
  return commit() or 1
end

local failure, levels = read('HGET', LEVELS, name)
if failure then return failure end
for level in string.gmatch((levels or '') .. '0', '.') do
  local key = at_key(name, level)
  local failure, first = read('ZRANGE', key, 0, 0, 'WITHSCORES')
  if failure then return failure end
  if first[2] then note(name, key, tonumber(first[2]), redis.call('ZCOUNT', key, '-inf', NOW)) end
end
gather('ZREM', PAUSED, name)
failure = commit()
if failure then return failure end
announce_ready()
announce_soonest()
return 1
