-- Deletes the message that a value was tracked for, for all groups, and its record.
--
-- KEYS[1] tracking  KEYS[2] deadlines  KEYS[3] garbage
-- The name of the message's stream is in its record.
-- ARGV[1] value
-- returns {stream's key, id}, or nothing if there is no record or the message is gone
-- errors WRONGTYPE, INVALID_ARGUMENT
local value = ARGV[1]
if not value then return invalid('there is no value') end
local failure = wrong_types()
if failure then return failure end
local record = record_of(value)
if not record then return false end

local stream, id, deleted = record.stream_id, record.msg_id, 0
-- A record of somebody else's may name anything.
local number = string.match(tostring(stream), ':s(%d+)$')
if number and tonumber(number) < 65536 and string.find(tostring(id), '^%d+%-%d+$') then
  failure = wrong_type(stream, 'stream')
  if failure then return failure end
  local removed = redis.pcall('XDEL', stream, id)
  -- An id that is none: the record is not one of a message.
  if type(removed) == 'number' then deleted = removed end
  if type(removed) == 'number' and redis.call('EXISTS', stream) == 1 then
    for _, group in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
      redis.call('XACK', stream, group[2], id)
    end
  end
end
redis.call('HDEL', TRACKING, value)
redis.call('ZREM', DEADLINES, value)
if type(record.deadline) == 'number' then
  local deadline = digits(record.deadline)
  redis.call('HDEL', TRACKING, value .. ':expiry:' .. deadline)
  redis.call('SREM', GARBAGE, value .. ':' .. deadline)
end
if deleted == 0 then return false end
return {stream, id}
