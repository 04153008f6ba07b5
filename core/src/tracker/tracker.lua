-- A queue tracker: shared by all its steps.
--
-- KEYS[1] tracker  hash: version -> the layout's; stamp -> the last stamp; sampled -> the stamp of the last sample
--   while no removal has followed it; row -> the last row that was scanned; rounds -> how often a scan reached the end,
--   and round_us -> when it last did
-- KEYS[2] ids      sorted set: id -> its stamp: when it was last added, scanned or sampled, in microseconds since the
--   Unix epoch; no two steps use the same stamp
local TRACKER, IDS = KEYS[1], KEYS[2]
local LAYOUT = 'tracker.v1'

local time = redis.call('TIME')
local NOW = time[1] * 1000000 + time[2]

-- A number as text; Lua's own format has fewer digits.
local function digits(number)
  return string.format('%.0f', number)
end

-- Whether ARGV[first] and the following arguments are `min` to IDS_MAX ids.
local function are_ids(first, min)
  local count = #ARGV - first + 1
  if count < min or count > IDS_MAX then return false end
  for i = first, #ARGV do
    if #ARGV[i] < 1 or #ARGV[i] > ID_BYTES_MAX then return false end
  end
  return true
end

-- The state beside the ids, with the next stamp; or an error as the first value.
local function read_tracker()
  local failure, values = read('HMGET', TRACKER, 'version', 'stamp', 'sampled', 'rounds', 'round_us', 'row')
  if failure then return failure end
  if values[1] and values[1] ~= LAYOUT then return wrong_layout(TRACKER, values[1], LAYOUT) end
  local tracker, names = {row = values[6] or ''}, {false, 'stamp', 'sampled', 'rounds', 'round_us'}
  for i = 2, 5 do
    tracker[names[i]] = whole(values[i] or '0', INTEGER_MAX)
    if not tracker[names[i]] then
      return redis.error_reply('CORRUPT the field ' .. names[i] .. ' of key ' .. TRACKER .. ' cannot be read')
    end
  end
  failure, tracker.count = read('ZCARD', IDS)
  if failure then return failure end
  tracker.next_stamp = math.max(tracker.stamp + 1, NOW)
  return nil, tracker
end

-- Gathers the write that stores a field.
local has_version = false
local function keep(field, value)
  if not has_version then gather('HSET', TRACKER, 'version', LAYOUT) end
  has_version = true
  gather('HSET', TRACKER, field, value)
end

-- Gathers the writes that give these ids the next stamp.
local function stamp_ids(tracker, ids)
  local stamp = digits(tracker.next_stamp)
  for _, id in ipairs(ids) do
    gather('ZADD', IDS, stamp, id)
  end
  keep('stamp', stamp)
end
