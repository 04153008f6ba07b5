-- Takes messages for a consumer of a group: streams in turn, one of each a turn.
--
-- KEYS[1] queue  KEYS[2] meta  KEYS[3] notifications
-- ARGV[1] group
-- ARGV[2] consumer
-- ARGV[3] max      messages, from 1
-- ARGV[4] ttl_ms   how long a stream that the group joins lives, and <queue>:meta; 0 for ever
-- ARGV[5] prefer   a stream's number, to take from first; empty for none
-- ARGV[6] default  1 to take from the stream at <queue> as well, whose group is <queue>, else 0
-- returns {last id of the notifications, stream, {id, {field, value, …}}, stream, {…}, …}; the default stream is -1
-- errors WRONGTYPE, INVALID_ARGUMENT
local GROUP, CONSUMER, DEFAULT, NOTHING = ARGV[1], ARGV[2], -1, {}
local max, ttl = whole(ARGV[3], 1e6), ttl_of(ARGV[4])
if not GROUP or not CONSUMER then return invalid('there is no group or no consumer') end
if not max or max < 1 then return invalid('max is not a whole number from 1 to a million') end
if not ttl then return invalid('ttl_ms is not 0 or a whole number from a second to 100 years') end

local failure, streams = stream_count()
if failure then return failure end
local offsets = redis.call('HMGET', META, 'offset:' .. GROUP, 'offset')

-- Where the streams lie in turn: s0 to s<streams - 1>, and after them the default stream.
local places = streams
if ARGV[6] == '1' then places = places + 1 end

local function key_of(place)
  if place == streams then return QUEUE, QUEUE end
  return stream_key(place), GROUP
end

-- Takes up to `count` messages from one place, whose group is made if need be; or returns first
-- an error.
local function take(place, count, is_second)
  local key, group = key_of(place)
  local reply = redis.pcall('XREADGROUP', 'GROUP', group, CONSUMER, 'COUNT', count, 'STREAMS', key, '>')
  if not reply then return nil, {} end
  if not reply.err then return nil, reply[1][2] end
  if is_second or not string.find(reply.err, 'NOGROUP', 1, true) then return wrong_type(key, 'stream', reply) end
  -- The default stream is another program's: it gets a group, but is never made and keeps its time.
  if place == streams then
    if redis.call('EXISTS', key) == 0 then return nil, {} end
    redis.call('XGROUP', 'CREATE', key, group, '0')
  else
    local before = redis.call('PTTL', key)
    redis.call('XGROUP', 'CREATE', key, group, '0', 'MKSTREAM')
    prolong(key, ttl, before)
  end
  return take(place, count, true)
end

-- Up to `count` messages from each of these streams in one command; nil if one of them cannot be
-- read, and then nothing was taken.
local function take_from_all(live, count)
  local keys, place_of = {}, {}
  for _, place in ipairs(live) do
    if place < streams then
      local key = stream_key(place)
      keys[#keys + 1], place_of[key] = key, place
    elseif length(QUEUE) then
      return nil
    end
  end
  local number = #keys
  if number > CHUNK / 2 then return nil end
  for i = 1, number do
    keys[number + i] = '>'
  end
  local function read()
    return redis.pcall('XREADGROUP', 'GROUP', GROUP, CONSUMER, 'COUNT', count, 'STREAMS', unpack(keys))
  end
  local reply = read()
  if reply and reply.err and string.find(reply.err, 'NOGROUP', 1, true) then
    for i = 1, number do
      -- One that has the group already says so, and one that is no stream is met again below.
      local before = redis.call('PTTL', keys[i])
      local made = redis.pcall('XGROUP', 'CREATE', keys[i], GROUP, '0', 'MKSTREAM')
      if not made.err then prolong(keys[i], ttl, before) end
    end
    reply = read()
  end
  if reply and reply.err then return nil end
  local taken = {}
  for _, stream in ipairs(reply or {}) do
    taken[place_of[stream[1]]] = stream[2]
  end
  return taken
end

local got, left = {}, max
local messages = {''}

local function push(place, entry)
  local next = #messages + 1
  messages[next] = place < streams and place or DEFAULT
  messages[next + 1] = entry
end

-- The preferred stream gives as much as it has and no turn is counted. Where the group has not
-- joined it, or the queue has no such stream any more, it is a stream like the others.
local preferred = whole(ARGV[5], streams - 1)
if preferred then
  local reply = redis.pcall('XREADGROUP', 'GROUP', GROUP, CONSUMER, 'COUNT', left, 'STREAMS', stream_key(preferred), '>')
  if reply and not reply.err then
    for _, entry in ipairs(reply[1][2]) do
      push(preferred, entry)
      left = left - 1
    end
  end
end

local offset = tonumber(offsets[1] or offsets[2]) or 0
local live = {}
if offset ~= math.floor(offset) or math.abs(offset) > 1e15 then offset = 0 end
for i = 0, places - 1 do
  live[i + 1] = (offset + i) % places
end
-- Those that gave something. The first pass asks all in turn, so they are in turn as well.
local order = {}

-- As if messages were taken one by one: as long as there is more to take than there are streams
-- that may have some, each of these gives the same number; the rest is one from each.
while left > 0 and #live > 0 and not failure do
  local quota = math.max(1, math.floor(left / #live))
  local all = #live > 1 and left >= #live and take_from_all(live, quota)
  local still = {}
  for _, place in ipairs(live) do
    local entries
    if all and place < streams then
      entries = all[place] or NOTHING
    else
      -- A key that is no stream ends the batch where single reads would end: what is taken has to
      -- be returned.
      if not all and #live > 1 then quota = 1 end
      failure, entries = take(place, quota)
      if failure then break end
    end
    local count, before = #entries, got[place]
    if before then
      for i = 1, count do
        before[#before + 1] = entries[i]
      end
    elseif count > 0 then
      got[place] = entries
      order[#order + 1] = place
    end
    left = left - count
    if count == quota then still[#still + 1] = place end
    if left == 0 then break end
  end
  live = still
end

-- One of each in turn; who has no more has no turn.
local turn, last = 1, nil
while #order > 0 do
  local more = {}
  for i = 1, #order do
    local place = order[i]
    local entries = got[place]
    push(place, entries[turn])
    last = place
    if entries[turn + 1] then more[#more + 1] = place end
  end
  order, turn = more, turn + 1
end

local before = redis.call('PTTL', META)
if last then
  local next_place = (last + 1) % places
  redis.call('HSET', META, 'offset', next_place % math.max(1, streams), 'offset:' .. GROUP, next_place)
end
if #messages > 1 then
  prolong(META, ttl, before)
  messages[1] = ''
  return messages
end
if failure then return failure end
-- A consumer waits from here on, so that no notification falls between.
failure = length(NOTIFICATIONS)
if failure then return failure end
messages[1] = '0-0'
local info = redis.pcall('XINFO', 'STREAM', NOTIFICATIONS)
for i = 1, #info, 2 do
  if info[i] == 'last-generated-id' then messages[1] = info[i + 1] end
end
return messages
