-- The fields of a volatile hash: shared by all steps on them.
--
-- KEYS[1] map   hash: field -> value
-- KEYS[2] zset  sorted set: field -> expiry, in seconds since the Unix epoch, with microseconds
-- and last, for a hash in a family, due  sorted set: base -> when it has something to remove, or earlier
-- A field is live if it is in both and has not expired. So if a server evicts one of the keys, the fields left in the
-- other are not live. Neither key has a time to live of its own, and their names stand for the version of the layout.
local MAP, ZSET = KEYS[1], KEYS[2]

-- For a hash in a family: the index of when each hash of its shard has something to remove, or earlier, and this hash's
-- member in it. The keys are `SHARD:map:BASE` and `SHARD:due`.
local DUE = #KEYS % 3 == 0 and KEYS[#KEYS]
local BASE = DUE and string.sub(MAP, #DUE + 2)

-- Gathers the entry in the index that this hash has something to remove at a time, unless it has an earlier entry; at
-- most once per step.
local function lower_due(us)
  if not DUE then return end
  gather('ZADD', DUE, 'LT', score_of(us))
  gather('ZADD', DUE, BASE)
end

-- Checks that each key has the right type or does not exist; returns an error.
local function check_fields()
  local failure = read('HLEN', MAP)
  return failure or (read('ZCARD', ZSET))
end

-- The expiries of fields in microseconds, false for those that are not live; or an error as the first value.
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

-- The values of fields, false for those that are not live; or an error as the first value.
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

-- How many fields are live, and how many others are in the map; or an error as the first value.
local function count_fields()
  local failure = check_fields()
  if failure then return failure end
  local values = redis.call('HLEN', MAP)
  local live = math.min(redis.call('ZCOUNT', ZSET, '(' .. NOW_SCORE, '+inf'), values)
  return nil, live, values - live
end

-- Up to `limit` expired fields, each followed by its score, in the order of expiry; or an error as the first value.
local function read_expired(key, limit)
  return read('ZRANGEBYSCORE', key, '-inf', NOW_SCORE, 'WITHSCORES', 'LIMIT', 0, limit)
end

-- Gathers the removal of a field.
local function remove_field(field)
  gather('HDEL', MAP, field)
  gather('ZREM', ZSET, field)
end
