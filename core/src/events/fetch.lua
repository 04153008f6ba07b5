-- Fetch: reads events by their ids.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  ignored: events of any generation are read
-- ARGV[2…]            ids
-- Returns {for each: 0 if it does not exist, else the number of its state from 1, the time of that state, and the
-- values of return_event()}; it ends after the event with which long bodies exceed the limit of a reply.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

-- By the numbers of states; 2 means behind another event.
local PLACES = {[1] = SCHEDULED, [3] = READY, [4] = LEASED, [5] = RETRY, [6] = DEAD, [7] = DONE}
local BEHIND = 2

local failure = look()
if failure then return failure end
local ids = every(ARGV, 2, 1)
local failure, heads, states = records_of(ids)
if failure then return failure end
local numbers, times = {}, {}
for place, key in pairs(PLACES) do
  local failure, scores = read('ZMSCORE', key, unpack(ids))
  if failure then return failure end
  for i = 1, #ids do
    if scores[i] then numbers[i], times[i] = place, tonumber(scores[i]) end
  end
end

local reply, bytes = {}, 0
for i, id in ipairs(ids) do
  local head = heads[i]
  if not head then
    reply[#reply + 1] = 0
  else
    reply[#reply + 1], reply[#reply + 2] = numbers[i] or BEHIND, times[i] or 0
    local failure, more = return_event(reply, id, head, states[i])
    if failure then return failure end
    bytes = bytes + more
    if bytes > STEP_BYTES_MAX then break end
  end
end
return reply
