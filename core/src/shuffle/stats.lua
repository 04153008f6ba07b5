-- What each stream of a queue holds for a group.
--
-- KEYS[1] queue  KEYS[2] meta  KEYS[3] notifications
-- ARGV[1] group
-- returns {{entries, pending, lag, milliseconds since the oldest pending message was delivered or nil}, …}, a stream each
-- errors WRONGTYPE, INVALID_ARGUMENT
if not ARGV[1] then return invalid('there is no group') end
local failure, streams = stream_count()
if failure then return failure end
local stats = {}
for number = 0, streams - 1 do
  local key = stream_key(number)
  local failure, entries = length(key)
  if failure then return failure end
  local pending, behind, idle = 0, entries, false
  if redis.call('EXISTS', key) == 1 then
    for _, group in ipairs(redis.call('XINFO', 'GROUPS', key)) do
      if field(group, 'name') == ARGV[1] then
        pending, behind = field(group, 'pending'), lag(key, group, entries)
        if pending > 0 then idle = redis.call('XPENDING', key, ARGV[1], '-', '+', 1)[1][3] end
      end
    end
  end
  stats[number + 1] = {entries, pending, behind, idle}
end
return stats
