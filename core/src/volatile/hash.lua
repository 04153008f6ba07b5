-- The fields of a volatile hash; what every step of one begins with.
--
-- KEYS[1] map   hash: field -> value
-- KEYS[2] zset  sorted set: field -> expiry, in seconds since the Unix epoch, with microseconds
-- A field is live if it is in both and its expiry is to come. So what a server that evicts keys leaves in one of them
-- is not live. Neither key has a time to live of its own, and their names are the version of the layout.
local MAP, ZSET = KEYS[1], KEYS[2]

-- 100 years, and what a double counts exactly.
local TTL_US_MAX, US_MAX = 3155760000000000, 2 ^ 53

local function invalid(message)
  return {err = 'INVALID_ARGUMENT ' .. message}
end

-- The number that a text is, if it is a whole one in canonical form and no more than `max`.
local function whole(text, max)
  if not text or not (text == '0' or string.find(text, '^[1-9]%d*$')) or #text > 16 then return nil end
  local value = tonumber(text)
  return value <= max and value or nil
end

-- The time to live that a text is, in microseconds.
local function ttl_of(text)
  local ttl = whole(text, TTL_US_MAX)
  return ttl and ttl >= 1000 and ttl or nil
end

-- Whether a text is a field.
local function is_field(text)
  return text ~= nil and #text <= 65536
end

-- A number of microseconds as a score. Its six digits are exact until the year 2106; Lua's own form has fewer.
local function score_of(us)
  return string.format('%.6f', us / 1000000)
end

-- A score as a number of microseconds; other writers may use any score.
local function micros(score)
  return math.min(math.floor(tonumber(score) * 1000000 + 0.5), US_MAX)
end

local time = redis.call('TIME')
local NOW = time[1] * 1000000 + time[2]
local NOW_SCORE = score_of(NOW)

-- Checks that both keys hold what they should, or nothing; returns an error.
local function check_fields()
  local failure = read('HLEN', MAP)
  return failure or (read('ZCARD', ZSET))
end

-- The expiries of fields in microseconds, false for those that are not live; or first an error.
local function read_expiries(fields)
  local failure = check_fields()
  if failure then return failure end
  local failure, expiries = read_each('ZMSCORE', ZSET, fields)
  if failure then return failure end
  for i, field in ipairs(fields) do
    local expiry = expiries[i] and micros(expiries[i])
    expiries[i] = expiry and expiry > NOW and redis.call('HEXISTS', MAP, field) == 1 and expiry
  end
  return nil, expiries
end

-- The values of fields, false for those that are not live; or first an error.
local function read_values(fields)
  local failure, values = read_fields(MAP, fields)
  if failure then return failure end
  local failure, expiries = read_each('ZMSCORE', ZSET, fields)
  if failure then return failure end
  for i = 1, #fields do
    if not expiries[i] or micros(expiries[i]) <= NOW then values[i] = false end
  end
  return nil, values
end

-- How many fields are live, and how many others are in the map; or first an error.
local function count_fields()
  local failure = check_fields()
  if failure then return failure end
  local values = redis.call('HLEN', MAP)
  local live = math.min(redis.call('ZCOUNT', ZSET, '(' .. NOW_SCORE, '+inf'), values)
  return nil, live, values - live
end

-- Up to `limit` fields that have expired, and their scores, by turns, those first that did so first; or first an error.
local function read_expired(key, limit)
  return read('ZRANGEBYSCORE', key, '-inf', NOW_SCORE, 'WITHSCORES', 'LIMIT', 0, limit)
end

-- Gathers what removes a field.
local function remove_field(field)
  gather('HDEL', MAP, field)
  gather('ZREM', ZSET, field)
end
