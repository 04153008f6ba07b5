-- Says that messages are still being worked on, so that nobody takes them over.
--
-- KEYS[1] queue  KEYS[2] meta  KEYS[3] notifications
-- ARGV[1] group
-- ARGV[2] consumer
-- ARGV[3] deliveries  how often they were delivered, if the work on them begins: see reclaim.lua; else 0
-- ARGV[4…] for each stream: its number (-1 for the default stream), how many ids, ids
-- returns how many are this consumer's, and are its for longer now
-- errors WRONGTYPE, INVALID_ARGUMENT
local lists, failure = lists_of_ids(4, ARGV[1])
if failure then return failure end
local deliveries = whole(ARGV[3], 1e14)
if not ARGV[2] then return invalid('there is no consumer') end
if not deliveries then return invalid('deliveries is not a whole number') end

local renewed = 0
for _, list in ipairs(lists) do
  for i = list.first, list.last do
    if held(list, ARGV[i], ARGV[2]) then
      local claim = {'XCLAIM', list.key, list.group, ARGV[2], 0, ARGV[i], 'JUSTID'}
      if deliveries > 0 then claim[8], claim[9] = 'RETRYCOUNT', ARGV[3] end
      redis.call(unpack(claim))
      renewed = renewed + 1
    end
  end
end
return renewed
