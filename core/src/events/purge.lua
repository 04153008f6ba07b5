-- Purge: removes events of one state, the first ones first.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation, ARGV[2] slot, ARGV[3] number: as for publish.lua
-- ARGV[4] state  scheduled, behind, ready, retry, dead or done
-- ARGV[5] key    of the events that are behind it
-- ARGV[6] until  and the following as in span.lua; events that are behind another one are all removed
-- ARGV[7] begun
-- ARGV[8] after_at
-- ARGV[9] after_id
-- ARGV[10] ranges
-- Returns {how many were removed, when the call began}, followed by the time and the id of the last event examined if
-- there may be more.
-- errors WRONGTYPE, STALE, MOVING, INCOMPATIBLE_VERSION

local PLACES = {scheduled = SCHEDULED, ready = READY, retry = RETRY, dead = DEAD, done = DONE}

local failure, reply = begin(ARGV[2], ARGV[3])
if failure then return failure end
local slot, step = ARGV[2], tonumber(ARGV[3])
if reply then return reply end
if FROZEN then return redis.error_reply('MOVING a part of the key space is on its way') end

local place, failure = PLACES[ARGV[4]], nil
local ids, heads, upto, begun, last_at, last_id, _
if place then
  local is_past = place == READY or place == DEAD or place == DONE
  failure, ids, _, begun, last_at, last_id = span(place, 6, STEP_EVENTS_MAX, is_past)
  if failure then return failure end
  failure, heads = read_fields(EVENTS, ids)
  failure = failure or check_heads(ids, heads)
else
  begun = tonumber(ARGV[7])
  if begun == 0 then begun = NOW end
  failure, ids, heads, upto = behind_of(ARGV[5], 0, STEP_EVENTS_MAX)
  if not failure and #ids == STEP_EVENTS_MAX then last_at, last_id = 0, ids[STEP_EVENTS_MAX] end
end
if failure then return failure end

reply = {#ids, begun, last_at, last_id}
for i, id in ipairs(ids) do
  local head = heads[i]
  if place then gather('ZREM', place, id) end
  local failure = remove(id, head)
  -- The next event of its lane is ready later than all events that this call removes.
  if not failure and (place == READY or place == RETRY) then failure = free_lane(head, NOW + 1) end
  if failure then return failure end
end
if #ids > 0 then
  if not place then gather('LTRIM', LANE .. ARGV[5], upto, -1) end
  remember(slot, step, reply)
end
local failure = commit()
if failure then return failure end
announce()
return reply
