-- Deletes what is recorded of deadlines that have passed: the record as well, if it is that of the
-- deadline. A value that was written again has a later one, and keeps it.
--
-- KEYS[1] tracking  KEYS[2] deadlines  KEYS[3] garbage
-- ARGV[1…] for each: value, deadline
-- returns how many records were deleted
-- errors WRONGTYPE, INVALID_ARGUMENT
if #ARGV % 2 ~= 0 then return invalid('a value has no deadline') end
local failure = wrong_types()
if failure then return failure end
local deleted = 0
for i = 1, #ARGV, 2 do
  local value, text = ARGV[i], ARGV[i + 1]
  local deadline = tonumber(text)
  local record = record_of(value)
  if record and record.deadline == deadline then
    deleted = deleted + redis.call('HDEL', TRACKING, value)
  end
  redis.call('HDEL', TRACKING, value .. ':expiry:' .. text)
  redis.call('SREM', GARBAGE, value .. ':' .. text)
  local score = redis.call('ZSCORE', DEADLINES, value)
  if score and tonumber(score) == deadline then redis.call('ZREM', DEADLINES, value) end
end
return deleted
