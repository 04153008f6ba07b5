-- Moving members between the sets; for reserve and exchange.

-- Moves up to `count` of the lowest members of one set into another, where the lower score wins.
-- Returns how many left.
local function move(from, to, count)
  local moved = 0
  while moved < count do
    local popped = redis.call('ZPOPMIN', from, math.min(count - moved, CHUNK / 2))
    if #popped == 0 then break end
    -- ZPOPMIN returns member, score; ZADD takes score, member.
    for i = 1, #popped, 2 do
      popped[i], popped[i + 1] = popped[i + 1], popped[i]
    end
    redis.call('ZADD', to, 'LT', unpack(popped))
    moved = moved + #popped / 2
  end
  return moved
end

-- Fills the consumer set up to `max` members and returns the first `max` of them with scores.
local function take(max, backwash, pset_size, cset_size)
  if backwash then
    move(CSET, PSET, cset_size)
    cset_size = 0
  end
  -- A member that is in both sets takes no place, so look again until it is full.
  while cset_size < max do
    if move(PSET, CSET, max - cset_size) == 0 then break end
    cset_size = redis.call('ZCARD', CSET)
  end
  if max == 0 then return {} end
  return redis.call('ZRANGE', CSET, 0, math.min(max, cset_size) - 1, 'WITHSCORES')
end

-- The size in an argument: a whole number that Lua can hold.
local function size(text)
  local value = tonumber(text)
  if value and value >= 0 and value < 1e17 and value == math.floor(value) then return value end
end
