-- Purge: removes events of one state, the first ones first.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation, ARGV[2] slot, ARGV[3] number: as for publish.lua
-- ARGV[4] state  scheduled, behind, ready, retry, dead or done
-- ARGV[5] key    of those that are behind it
-- ARGV[6] until  the last time of the state that counts; of what is ready, dead or done it is not after now
-- Returns {how many were removed, 1 if there may be more, until}.
-- errors WRONGTYPE, STALE, MOVING, INCOMPATIBLE_VERSION

local PURGED_MAX = 1000
local PLACES = {scheduled = SCHEDULED, ready = READY, retry = RETRY, dead = DEAD, done = DONE}

local failure, reply = begin(ARGV[2], ARGV[3])
if failure then return failure end
local slot, step = ARGV[2], tonumber(ARGV[3])
if reply then return reply end
if FROZEN then return redis.error_reply('MOVING a part of the key space is on its way') end

local place, until_when = PLACES[ARGV[4]], tonumber(ARGV[6])
if place == READY or place == DEAD or place == DONE then until_when = math.min(until_when, NOW) end
local failure, ids, heads, upto
if place then
  failure, ids = read('ZRANGEBYSCORE', place, '-inf', number(until_when), 'LIMIT', 0, PURGED_MAX)
  if failure then return failure end
  failure, heads = read_fields(EVENTS, ids)
  failure = failure or check_heads(ids, heads)
else
  failure, ids, heads, upto = behind_of(ARGV[5], 0, PURGED_MAX)
end
if failure then return failure end

reply = {#ids, #ids == PURGED_MAX and 1 or 0, until_when}
for i, id in ipairs(ids) do
  local head = heads[i]
  if place then gather('ZREM', place, id) end
  local failure = remove(id, head)
  -- What comes next in its lane is ready later than all that this call removes.
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
