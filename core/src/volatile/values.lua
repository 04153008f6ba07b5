-- The values and times of a volatile hash: shared by all its steps.

-- Parses a time to live in microseconds; returns nothing if it is invalid.
local function ttl_of(text)
  local ttl = whole(text, TTL_US_MAX)
  return ttl and ttl >= TTL_US_MIN and ttl or nil
end

-- Whether a text can be a field.
local function is_field(text)
  return text ~= nil and #text <= FIELD_BYTES_MAX
end

-- A number of microseconds as a score. Its six decimals are exact until the year 2242; Lua's own format has fewer.
local function score_of(us)
  return string.format('%.6f', us / 1000000)
end

-- A score as a number of microseconds; other writers may use any score.
local function micros(score)
  score = tonumber(score)
  if score <= 0 then return 0 end
  if score >= INTEGER_MAX / 1000000 then return INTEGER_MAX end
  local seconds = math.floor(score)
  return seconds * 1000000 + math.floor((score - seconds) * 1000000 + 0.5)
end

local time = redis.call('TIME')
local NOW = time[1] * 1000000 + time[2]
local NOW_SCORE = score_of(NOW)
