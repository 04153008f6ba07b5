-- Dead letters: messages with their history before their fields; for reclaim, reject and redrive.

local DEAD = KEYS[4]
local HISTORY = {'dead:stream', 'dead:id', 'dead:group', 'dead:consumer', 'dead:deliveries'}

-- A server without memory refuses what adds to a stream, unless its script has written before: this writes nothing,
-- and what takes as much away as it adds is to be done all the same.
local function make_room()
  redis.call('XDEL', DEAD, '0-1')
end

-- Makes a dead letter of a pending message: it is copied with its history, acknowledged, and deleted if no other
-- group has joined its stream. A place is a stream's key, its group and its number.
local function bury(place, id, consumer, deliveries, reason, fields)
  local values = {place.number, id, place.group, consumer, deliveries}
  local strings = {}
  for i = 1, #HISTORY do
    strings[2 * i - 1], strings[2 * i] = HISTORY[i], values[i]
  end
  strings[#strings + 1], strings[#strings + 2] = 'dead:reason', reason
  for _, string in ipairs(fields) do
    strings[#strings + 1] = string
  end
  make_room()
  add_strings(DEAD, strings, 1, #strings)
  redis.call('XACK', place.key, place.group, id)
  if #redis.call('XINFO', 'GROUPS', place.key) == 1 then redis.call('XDEL', place.key, id) end
end

-- Lets the dead letters live for `ttl` from now on if a step has made some, and deletes those that are older.
local function keep_dead(made, ttl)
  if made > 0 then expire(DEAD, ttl) end
  if ttl > 0 then
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    redis.call('XTRIM', DEAD, 'MINID', string.format('%.0f', math.max(0, now - ttl)))
  end
end

-- The stream that a dead letter's message came from, -1 for the default stream, and how many strings are its
-- history; nothing for an entry of another program.
local function origin_of(strings)
  for i = 1, #HISTORY do
    if strings[2 * i - 1] ~= HISTORY[i] then return nil end
  end
  local history = 2 * #HISTORY
  if strings[history + 1] == 'dead:reason' then history = history + 2 end
  if #strings == history then return nil end
  return strings[2] == '-1' and -1 or whole(strings[2], STREAMS_MAX - 1), history
end
