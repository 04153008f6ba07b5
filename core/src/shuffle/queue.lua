-- The names of a queue's keys and what they hold; what every step of a queue begins with.
--
-- KEYS[1] queue          the name, where the optional default stream is
-- KEYS[2] meta           hash
-- KEYS[3] notifications  stream
-- The names of the streams, <queue>:s0, <queue>:s1, …, are made here: only the meta hash says how
-- many there are. On a cluster the name holds a {tag}, so that all lie in its slot.
local QUEUE, META, NOTIFICATIONS = KEYS[1], KEYS[2], KEYS[3]

-- The consumer of messages that were given back and wait for somebody to take them over.
local RELEASED = 'millpond:released'

-- Strings in one command, under Lua's limit on unpack (about 8,000).
local CHUNK = 7000

local function stream_key(number)
  return QUEUE .. ':s' .. number
end

-- The error of a key that cannot be used: a clearer one if it has the wrong type.
local function wrong_type(key, expected, failure)
  if not string.find(failure.err, 'WRONGTYPE', 1, true) then return failure end
  local found = redis.call('TYPE', key).ok
  return redis.error_reply('WRONGTYPE key ' .. key .. ' holds a ' .. found .. ', expected a ' .. expected)
end

-- How many streams there are; or first an error. A queue that nobody wrote to has one.
local function stream_count()
  local text = redis.pcall('HGET', META, 'streams')
  if type(text) == 'table' then return wrong_type(META, 'hash', text) end
  if not text then return nil, 1 end
  local count = tonumber(text)
  if not count or count ~= math.floor(count) or count > STREAMS_MAX then
    return redis.error_reply('WRONGTYPE key ' .. META .. ' holds no number of streams in its field streams')
  end
  return nil, count
end

-- How many entries a stream has; or first an error.
local function length(key)
  local entries = redis.pcall('XLEN', key)
  if type(entries) == 'table' then return wrong_type(key, 'stream', entries) end
  return nil, entries
end

-- A field of what XINFO says of a group.
local function field(group, name)
  for i = 1, #group, 2 do
    if group[i] == name then return group[i + 1] end
  end
end

-- Whether a group has been given every entry.
local function is_delivered(key, group)
  return #redis.call('XRANGE', key, '(' .. field(group, 'last-delivered-id'), '+', 'COUNT', 1) == 0
end

-- How many entries nobody has given to a group yet. Where the server does not know (before Redis
-- 7, and after entries were deleted in between) the result is all, or none if that is sure.
local function lag(key, group, entries)
  local known = field(group, 'lag')
  if known then return math.min(known, entries) end
  return is_delivered(key, group) and 0 or entries
end

-- How many messages of a stream some group still has to get or to acknowledge; or first an error.
local function backlog(key)
  local failure, entries = length(key)
  if failure or entries == 0 then return failure, entries end
  local groups, most = redis.call('XINFO', 'GROUPS', key), 0
  if #groups == 0 then return nil, entries end
  for i = 1, #groups do
    most = math.max(most, field(groups[i], 'pending') + lag(key, groups[i], entries))
    if most >= entries then return nil, entries end
  end
  return nil, most
end

-- The number that a text is, if it is a whole one in canonical form and no more than `max`.
local function whole(text, max)
  if not text or not (text == '0' or string.find(text, '^[1-9]%d*$')) or #text > 15 then return nil end
  local value = tonumber(text)
  return value <= max and value or nil
end

-- The time to live in an argument, in milliseconds: a second to 100 years, or 0 for ever.
local function ttl_of(text)
  local ttl = whole(text, TTL_MS_MAX)
  return ttl and (ttl >= 1000 or ttl == 0) and ttl or nil
end

-- Lets a key live for `ttl` from now on.
local function expire(key, ttl)
  if ttl == 0 then redis.call('PERSIST', key) else redis.call('PEXPIRE', key, ttl) end
end

-- The same, but never shorter than it would have. `before` is the PTTL from before the step touched
-- it: only that tells a key that never expires from one that the step has just made.
local function prolong(key, ttl, before)
  if before ~= -1 and (ttl == 0 or before < ttl) then expire(key, ttl) end
end

local function invalid(message)
  return {err = 'INVALID_ARGUMENT ' .. message}
end
