-- Makes dead letters of messages that their consumer gives up.
--
-- KEYS[1] queue  KEYS[2] meta  KEYS[3] notifications  KEYS[4] dead
-- ARGV[1] group
-- ARGV[2] consumer
-- ARGV[3] reason
-- ARGV[4] dead_ttl_ms  how long a dead letter lives; 0 for ever
-- ARGV[5…] for each stream: its number (-1 for the default stream), how many ids, ids
-- returns how many were this consumer's, and are dead letters now
-- errors WRONGTYPE, INVALID_ARGUMENT
local lists, failure = lists_of_ids(5, ARGV[1])
if failure then return failure end
local consumer, reason, dead_ttl = ARGV[2], ARGV[3], ttl_of(ARGV[4])
if not consumer or not reason then return invalid('there is no consumer or no reason') end
if not dead_ttl then return invalid('dead_ttl_ms is not 0 or a whole number from a second to 100 years') end
failure = length(DEAD)
if failure then return failure end

local dead = 0
for _, list in ipairs(lists) do
  for i = list.first, list.last do
    local deliveries, entry = held(list, ARGV[i], consumer)
    if deliveries then
      bury(list, ARGV[i], consumer, deliveries, reason, entry[2])
      dead = dead + 1
    end
  end
end
keep_dead(dead, dead_ttl)
return dead
