-- Deletes the message that a value was tracked for, for all groups, and its record.
--
-- KEYS[1] tracking  KEYS[2] deadlines  KEYS[3] garbage
-- The name of the message's stream is in its record.
-- ARGV[1] value
-- returns {stream's key, id}, or nothing if there is no record or the message is gone
-- errors WRONGTYPE, INVALID_ARGUMENT, CORRUPT
local value = ARGV[1]
if not value then return invalid('there is no value') end
local failure = wrong_types()
if failure then return failure end
local text = redis.call('HGET', TRACKING, value)
-- The field of another value's deadline is no record.
if not text or text == '1' and string.find(value, ':expiry:%-?%d+$') then return false end

-- A record of another program may hold anything. One that names no message stays as it is, so that
-- a person can find out what went wrong.
local function corrupt(why)
  return redis.error_reply('CORRUPT the record of this value in ' .. TRACKING .. ' ' .. why .. '; it is left as it is')
end
local record = record_of(value)
if not record then return corrupt('cannot be read') end
local stream, id, deadline = record.stream_id, record.msg_id, record.deadline
local number = type(stream) == 'string' and string.match(stream, ':s(%d+)$')
if not number or #number > 5 or tonumber(number) >= STREAMS_MAX then return corrupt('names no stream') end
if type(id) ~= 'string' or not string.find(id, '^%d+%-%d+$') then return corrupt('names no message') end
if deadline and type(deadline) ~= 'number' then return corrupt('has a deadline that is no number') end
failure = wrong_type(stream, 'stream')
if failure then return failure end
local deleted = redis.pcall('XDEL', stream, id)
if type(deleted) ~= 'number' then
  -- Digits, but more than an id has.
  if string.find(deleted.err, 'Invalid stream ID', 1, true) then return corrupt('names no message') end
  return deleted
end

if redis.call('EXISTS', stream) == 1 then
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
    redis.call('XACK', stream, group[2], id)
  end
end
redis.call('HDEL', TRACKING, value)
redis.call('ZREM', DEADLINES, value)
if deadline then
  deadline = digits(deadline)
  redis.call('HDEL', TRACKING, value .. ':expiry:' .. deadline)
  redis.call('SREM', GARBAGE, value .. ':' .. deadline)
end
if deleted == 0 then return false end
return {stream, id}
