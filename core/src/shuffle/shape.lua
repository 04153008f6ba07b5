-- How many streams a queue has, and how that changes; for write, redrive and resize.

-- How many streams there are, and how many of them writers spread over: fewer while the queue gets
-- smaller, and none yet if nobody has written. Or first an error.
local function shape_of_queue()
  local failure, streams = stream_count()
  if failure then return failure end
  local fields = redis.call('HMGET', META, 'streams', 'target')
  -- If the original has set another number since, that is what holds.
  local target, of = string.match(fields[2] or '', '^(%d+)/(%d+)$')
  target = tonumber(of) == streams and whole(target, streams - 1)
  if target and target > 0 then return nil, streams, target end
  -- A number below one is none; the next writer sets one: else nobody would read its message.
  if fields[1] then return nil, streams, streams > 0 and streams or nil end
  -- The original leaves the field out for one stream.
  local first = stream_key(0)
  local info = redis.pcall('XINFO', 'STREAM', first)
  if info.err and not string.find(info.err, 'no such key', 1, true) then return wrong_type(first, 'stream', info) end
  if not info.err and field(info, 'last-generated-id') ~= '0-0' then return nil, 1, 1 end
  return nil, streams, nil
end

-- Whether the streams from `first` to `last` have nothing left to deliver or to acknowledge; or first
-- an error.
local function is_drained(first, last)
  for number = first, last do
    local key = stream_key(number)
    local failure, entries = length(key)
    if failure then return failure end
    if entries > 0 then
      local groups = redis.call('XINFO', 'GROUPS', key)
      if #groups == 0 then return nil, false end
      for _, group in ipairs(groups) do
        if field(group, 'pending') > 0 or not is_delivered(key, group) then return nil, false end
      end
    end
  end
  return nil, true
end

local function set_streams(count)
  redis.call('HSET', META, 'streams', count)
  redis.call('HDEL', META, 'target')
end

-- Ends a step that put messages into the streams at these keys, the last of them into stream `last`: the keys live for
-- `ttl` from now on, and who waits is told. `count` is how many streams the queue has from now on, if that changes.
local function announce(keys, last, ttl, count)
  for _, key in pairs(keys) do
    expire(key, ttl)
  end
  local before = redis.call('PTTL', META)
  if count then set_streams(count) end
  prolong(META, ttl, before)
  redis.call('XADD', NOTIFICATIONS, 'MAXLEN', 1, '*', 's', last)
  expire(NOTIFICATIONS, ttl)
end
