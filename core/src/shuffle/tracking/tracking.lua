-- The records of tracked messages; what every step on them begins with.
--
-- KEYS[1] tracking   hash: value → {stream_id, track_value, msg_id, deadline} as JSON, and
--                    <value>:expiry:<deadline> → 1
-- KEYS[2] deadlines  sorted set: value by deadline, in seconds since the Unix epoch
-- KEYS[3] garbage    set: <value>:<deadline>, cordoned and to be collected
local TRACKING, DEADLINES, GARBAGE = KEYS[1], KEYS[2], KEYS[3]

local function invalid(message)
  return {err = 'INVALID_ARGUMENT ' .. message}
end

-- The error of a key that does not hold what it should, if there is one.
local function wrong_type(key, expected)
  local found = redis.call('TYPE', key).ok
  if found == expected or found == 'none' then return nil end
  return redis.error_reply('WRONGTYPE key ' .. key .. ' holds a ' .. found .. ', expected a ' .. expected)
end

local function wrong_types()
  return wrong_type(TRACKING, 'hash') or wrong_type(DEADLINES, 'zset') or wrong_type(GARBAGE, 'set')
end

-- The record of a value, if there is one that can be read.
local function record_of(value)
  local text = redis.call('HGET', TRACKING, value)
  if not text then return nil end
  local is_json, record = pcall(cjson.decode, text)
  if not is_json or type(record) ~= 'table' then return nil end
  return record
end

-- A whole number of seconds in plain digits.
local function digits(deadline)
  return string.format('%.0f', deadline)
end
