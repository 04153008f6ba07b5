-- Removes consumers that hold no message of the queue and have not come for one for some time, in all groups.
--
-- KEYS[1] queue  KEYS[2] meta  KEYS[3] notifications
-- ARGV[1] min_idle_ms  how long a consumer has been idle at least, in all streams
-- ARGV[2] group        the only one to look at; empty for all
-- ARGV[3] consumer     the only one to look at; empty for all
-- returns how many were removed; a consumer of several streams is one
-- errors WRONGTYPE, INVALID_ARGUMENT
local min_idle = whole(ARGV[1], 1e14)
if not min_idle then return invalid('min_idle_ms is not a whole number') end
if not ARGV[2] or not ARGV[3] then return invalid('there is no group or no consumer') end
local failure, streams = stream_count()
if failure then return failure end

-- The streams that each consumer of each group is known to; false if it is to stay.
local groups = {}
for number = 0, streams - 1 do
  local key = stream_key(number)
  local failure = length(key)
  if failure then return failure end
  if redis.call('EXISTS', key) == 1 then
    for _, group in ipairs(redis.call('XINFO', 'GROUPS', key)) do
      local name = field(group, 'name')
      local consumers = groups[name] or {}
      groups[name] = consumers
      local known = ARGV[2] == '' or ARGV[2] == name
      for _, info in ipairs(known and redis.call('XINFO', 'CONSUMERS', key, name) or {}) do
        local consumer = field(info, 'name')
        if consumer == RELEASED or ARGV[3] ~= '' and consumer ~= ARGV[3] then
          consumers[consumer] = false
        elseif field(info, 'pending') > 0 or field(info, 'idle') < min_idle then
          consumers[consumer] = false
        elseif consumers[consumer] ~= false then
          local keys = consumers[consumer] or {}
          keys[#keys + 1], consumers[consumer] = key, keys
        end
      end
    end
  end
end

local removed = 0
for group, consumers in pairs(groups) do
  for consumer, keys in pairs(consumers) do
    if keys then
      for _, key in ipairs(keys) do
        redis.call('XGROUP', 'DELCONSUMER', key, group, consumer)
      end
      removed = removed + 1
    end
  end
end
return removed
