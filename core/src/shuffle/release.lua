-- Gives messages back before they are done: a reclaim finds them as if they had been idle for long. They go to a consumer
-- of their own, so that it does not take them for those of a program that is gone.
--
-- KEYS[1] queue  KEYS[2] meta  KEYS[3] notifications
-- ARGV[1] group
-- ARGV[2] consumer
-- ARGV[3] idle_ms  how long they have been idle from now on
-- ARGV[4] counts  1 if their delivery counts, as of work that failed, else 0
-- ARGV[5…] for each stream: its number (-1 for the default stream), how many ids, ids
-- returns how many were this consumer's, and are given back
-- errors WRONGTYPE, INVALID_ARGUMENT
local lists, failure = lists_of_ids(5, ARGV[1])
if failure then return failure end
local consumer, idle = ARGV[2], whole(ARGV[3], 1e14)
if not consumer then return invalid('there is no consumer') end
if not idle then return invalid('idle_ms is not a whole number') end

local less = ARGV[4] == '1' and 0 or 1
local released = 0
for _, list in ipairs(lists) do
  for i = list.first, list.last do
    local deliveries = held(list, ARGV[i], consumer)
    if deliveries then
      redis.call('XCLAIM', list.key, list.group, RELEASED, 0, ARGV[i], 'IDLE', ARGV[3], 'RETRYCOUNT',
        math.max(0, deliveries - less), 'JUSTID')
      released = released + 1
    end
  end
end
return released
