-- Writes messages, each to the stream of its shard with the least to do: all of them, or none.
--
-- KEYS[1] queue  KEYS[2] meta  KEYS[3] notifications  KEYS[4] tracking if tracked  KEYS[5] deadlines if tracked
-- ARGV[1] ttl_ms         how long each key lives after this; 0 for ever
-- ARGV[2] streams        of the queue, of which the shards are
-- ARGV[3] shard_streams  streams in a shard
-- ARGV[4] track_field    the field whose value tracks a message; empty for none
-- ARGV[5] deadline       seconds since the Unix epoch; empty for now and ttl_ms, or a day if that is 0
-- ARGV[6…] for each message: its shard's streams, how many fields it has, field, value, field, value, …
-- returns {id, stream, id, stream, …}; or, where the queue has another number of streams, that number, and
--         nothing is written. The first to write says how many there are
-- errors WRONGTYPE, INVALID_ARGUMENT
local ttl, wanted = ttl_of(ARGV[1]), whole(ARGV[2], STREAMS_MAX)
if not ttl then return invalid('ttl_ms is not 0 or a whole number from a second to 100 years') end
if not wanted or wanted < 1 then return invalid('streams is not a whole number from 1 to ' .. STREAMS_MAX) end
local width = whole(ARGV[3], wanted)
if not width or width < 1 then return invalid('shard_streams is not a whole number from 1 to streams') end

local track_field, deadline = ARGV[4], ARGV[5]
local tracking, deadlines = KEYS[4], KEYS[5]
if not track_field or not deadline then return invalid('there is no track_field or no deadline') end
local is_tracked = track_field ~= ''
if is_tracked and not deadlines then return invalid('track_field needs the keys of the records') end
if deadline ~= '' then
  local number = string.find(deadline, '^%-?%d+$') and tonumber(deadline)
  if not number or math.abs(number) > DEADLINE_MAX then return invalid('deadline is not a whole number of seconds') end
end

-- The numbers that streams' texts are, and those that say how many fields: each is checked once.
local numbers, counts = {}, {}

-- Where each message's arguments begin and end, and then in which stream it goes.
local starts, firsts, lasts, chosen, at, arguments = {}, {}, {}, {}, 6, #ARGV
while at <= arguments do
  for i = at, at + width - 1 do
    local text = ARGV[i] or ''
    if not numbers[text] then
      local number = whole(text, wanted - 1)
      if not number then return invalid('a stream of a shard is not a whole number below streams') end
      numbers[text] = number
    end
  end
  local text = ARGV[at + width] or ''
  local fields = counts[text]
  if not fields then
    fields = whole(text, 1e6)
    if not fields or fields < 1 then return invalid('a message has no whole number of fields from 1') end
    counts[text] = fields
  end
  local message = #starts + 1
  starts[message], firsts[message] = at, at + width + 1
  at = at + width + 1 + 2 * fields
  if at > arguments + 1 then return invalid('a message has fewer strings than its fields need') end
  lasts[message] = at - 1
end
if #starts == 0 then return {} end

local failure, streams, shape = shape_of_queue()
if failure then return failure end
if shape and shape ~= wanted then return shape end
failure = length(NOTIFICATIONS)
if failure then return failure end
if is_tracked then
  for key, kind in pairs({[tracking] = 'hash', [deadlines] = 'zset'}) do
    local found = redis.call('TYPE', key).ok
    if found ~= kind and found ~= 'none' then
      return redis.error_reply('WRONGTYPE key ' .. key .. ' holds a ' .. found .. ', expected a ' .. kind)
    end
  end
end

-- The first write makes the queue what it is; a smaller one is done when it is drained.
local is_resized = not shape
if shape and shape < streams then
  failure, is_resized = is_drained(shape, streams - 1)
  if failure then return failure end
end

-- The first empty stream of the shard, or the first of those with the least to do.
local waiting = {}
for message = 1, #starts do
  local least, best
  for i = starts[message], starts[message] + width - 1 do
    local number = numbers[ARGV[i]]
    local busy = waiting[number]
    if not busy then
      failure, busy = backlog(stream_key(number))
      if failure then return failure end
      waiting[number] = busy
    end
    if not least or busy < least then
      least, best = busy, number
      if busy == 0 then break end
    end
  end
  waiting[best] = least + 1
  chosen[message] = best
end

-- Nothing has changed so far, and nothing below can fail once the first message is in its stream.
local ids, keys = {}, {}
for message = 1, #starts do
  local number = chosen[message]
  local key = keys[number]
  if not key then
    key = stream_key(number)
    keys[number] = key
  end
  ids[2 * message - 1] = add_strings(key, ARGV, firsts[message], lasts[message])
  ids[2 * message] = number
end
if is_tracked then
  if deadline == '' then
    deadline = string.format('%.0f', redis.call('TIME')[1] + (ttl > 0 and math.floor(ttl / 1000) or DEADLINE_S_DEFAULT))
  end
  for message = 1, #starts do
    local value
    for i = firsts[message], lasts[message], 2 do
      if ARGV[i] == track_field then
        value = ARGV[i + 1]
        break
      end
    end
    if value and value ~= '' then
      local record = cjson.encode({stream_id = keys[chosen[message]], track_value = value, msg_id = ids[2 * message - 1]})
      -- The encoder would write a large deadline in exponent form, which the original cannot read.
      record = string.sub(record, 1, -2) .. ',"deadline":' .. deadline .. '}'
      redis.call('HSET', tracking, value, record, value .. ':expiry:' .. deadline, '1')
      redis.call('ZADD', deadlines, deadline, value)
    end
  end
end
announce(keys, chosen[#chosen], ttl, is_resized and wanted)
return ids
