-- The events of a state by time and id, in pages.

-- Whether an event comes before another one: by time, and by id if times are equal. Lua's order of strings depends on
-- the locale of the server.
local function comes_before(at, id, other_at, other_id)
  if at ~= other_at then return at < other_at end
  local a, b = struct.unpack('>I6I6', id)
  local c, d = struct.unpack('>I6I6', other_id)
  if a ~= c then return a < c end
  return b < d
end

-- Up to `most` ids with their times, after a position, whose own event may no longer exist; without an id from the
-- first one on. Or an error as the first value.
local function entries_behind(key, after_at, after_id, most)
  local low, high = 0, 0
  if after_id ~= '' then
    local failure, before = read('ZCOUNT', key, '-inf', string.format('(%.0f', after_at))
    if failure then return failure end
    -- A binary search among the events with that time, which are in the order of their ids.
    low, high = before, before + redis.call('ZCOUNT', key, number(after_at), number(after_at))
  end
  while low < high do
    local middle = math.floor((low + high) / 2)
    local id = redis.call('ZRANGE', key, middle, middle)[1]
    if comes_before(after_at, after_id, after_at, id) then high = middle else low = middle + 1 end
  end
  return read('ZRANGE', key, low, low + most - 1, 'WITHSCORES')
end
