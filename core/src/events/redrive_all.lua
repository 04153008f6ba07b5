-- Redrive all: turns dead letters into events again, in the order in which they died.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation, ARGV[2] slot, ARGV[3] number: as for publish.lua
-- ARGV[4] reason    for which they died, as its number in a state; 0 for any
-- ARGV[5] max       how many at most
-- ARGV[6] until     and the following as in span.lua: when they died
-- ARGV[7] begun
-- ARGV[8] after_at
-- ARGV[9] after_id
-- ARGV[10] ranges
-- ARGV[11] rate     how many turns there are per second; 0 to have all fire now
-- ARGV[12] turn     of the first dead letter, counted from 0
-- Returns {how many were redriven, when the call began}, followed by the time and the id of the last event examined if
-- there may be more.
-- errors WRONGTYPE, STALE, MOVING, INCOMPATIBLE_VERSION

local failure, reply = begin(ARGV[2], ARGV[3])
if failure then return failure end
local slot, step = ARGV[2], tonumber(ARGV[3])
if reply then return reply end
if FROZEN then return redis.error_reply('MOVING a part of the key space is on its way') end

local reason, max = tonumber(ARGV[4]), tonumber(ARGV[5])
local failure, ids, times, begun, last_at, last_id = span(DEAD, 6, LOOKED_MAX, true)
if failure then return failure end
local failure, heads, states = records_of(ids)
failure = failure or check_heads(ids, heads)
if failure then return failure end
local failure, next_at = first_of(SCHEDULED)
if failure then return failure end
local rate, turn, alarm = tonumber(ARGV[11]), tonumber(ARGV[12]), nil
reply = {0, begun, last_at, last_id}
for i, id in ipairs(ids) do
  if reply[1] == max then
    reply[3], reply[4] = times[i - 1], ids[i - 1]
    break
  end
  if reason == 0 or reason == read_state(states[i]).reason then
    local fire_at = rate > 0 and NOW + math.floor(turn * 1000000 / rate) or NOW
    local failure = redrive(id, heads[i], states[i], fire_at)
    if failure then return failure end
    if fire_at > NOW then alarm = alarm or fire_at end
    reply[1], turn = reply[1] + 1, turn + 1
  end
end
if reply[1] > 0 then remember(slot, step, reply) end
local failure = commit()
if failure then return failure end
announce(alarm and alarm < (next_at or math.huge) and alarm)
return reply
