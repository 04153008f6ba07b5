-- Import: a batch of the part that another partition gives away; or its end.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  of the change
-- ARGV[2] number      of the batch; 0 if there are no more, and the partition delivers again
-- ARGV[3…]            for each item the strings of export.lua; at the end how many batches there were, 0 if that is not
--                     known
-- Returns {1 if it was taken, 0 for a batch that arrives again, or late, which does nothing; the number of the last
-- batch that has arrived, 0 for none}. A partition that does not expect a part refuses a batch.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local PLACES = {['4'] = LEASED, ['5'] = RETRY, ['6'] = DEAD, ['7'] = DONE}

local failure = begin()
if failure then return failure end
local failure, root = read('HMGET', ROOT, 'taken', 'missed')
if failure then return failure end
local batch, taken, missed = tonumber(ARGV[2]), tonumber(root[1]), tonumber(root[2] or 0)
if not taken then
  if batch > 0 then return redis.error_reply('STALE nothing is on its way to the partition') end
  return {0, 0}
end
-- Batches that the other partition has given away and this one does not have: a server has lost its memory.
local left_out = (batch > 0 and batch - 1 or tonumber(ARGV[3])) - taken
if batch == 0 then
  redis.call('HDEL', ROOT, 'taken', 'frozen')
  if left_out > 0 then redis.call('HSET', ROOT, 'missed', missed + left_out) end
  redis.pcall('PUBLISH', CHANNEL, WAKE_ALL)
  return {1, taken}
end
if taken >= batch then return {0, taken} end

for at = 3, #ARGV, 7 do
  local place, time, named_until, id, record, head, body = unpack(ARGV, at, at + 6)
  if place == 'name' then
    gather('HSET', NAMES, record, id)
    gather('ZADD', FORGET, time, record)
  elseif place == 'schedule' then
    gather('HSET', SCHEDULES, record, head)
    gather('HSET', TEMPLATES, record, body)
    -- A schedule whose last change was by a clock that was far ahead is checked again.
    local version = struct.unpack('>I8', head, 3)
    if version > NOW + CLOCK_AHEAD_MAX then time = number(math.min(tonumber(time), NOW)) end
    if time ~= '0' then gather('ZADD', TICKS, time, record) end
  else
    gather('HSET', EVENTS, id, head)
    if body ~= '' then gather('HSET', BODIES, id, body) end
    if record ~= '' then gather('HSET', STATE, id, record) end
    -- A waiting event becomes due in the order of its time, as if it had been published here.
    local key = PLACES[place]
    if key then
      gather('ZADD', key, time, id)
      local heads_lane = (key == LEASED or key == RETRY) and flag(string.byte(head, 2), KEYED)
      if heads_lane then gather('HSET', LANES, key_of(head), id) end
    else
      local _, _, fire_at = struct.unpack(HEAD, head)
      gather('ZADD', SCHEDULED, number(fire_at), id)
    end
    if named_until ~= '-1' then
      gather('HSET', NAMES, name_of(head), id)
      if named_until ~= '0' then gather('ZADD', FORGET, named_until, name_of(head)) end
    end
  end
end
gather('HSET', ROOT, 'taken', batch)
if left_out > 0 then gather('HSET', ROOT, 'missed', missed + left_out) end
-- The batch is removed from the other partition next, and both deliver nothing until all batches have arrived: so a
-- server whose memory is full accepts it.
local failure = commit()
if failure then return failure end
return {1, batch}
