-- Reads that check a key's type, and writes that are done together: shared by the scripts that change everything or
-- nothing. Constants that a script does not define are those of State::constants() in Rust, which are replaced by their
-- values.

-- Strings in one command, under Lua's limit on unpack (about 8,000); an even number, for pairs.
local CHUNK = 7000

-- The types of keys for commands, by their first letter.
local TYPES = {H = 'hash', Z = 'zset', L = 'list', R = 'list'}

-- Commands that free memory.
local REMOVES = {HDEL = true, ZREM = true, LTRIM = true, LREM = true}

-- The keys that hold the expected type, or do not exist.
local is_sound = {}

local function wrong_type(key, expected)
  local found = redis.call('TYPE', key).ok
  return redis.error_reply('WRONGTYPE key ' .. key .. ' holds a ' .. found .. ', expected a ' .. expected)
end

-- The error for a key that was written by a version that this one does not know.
local function wrong_layout(key, found, expected)
  return redis.error_reply('INCOMPATIBLE_VERSION unrecognized layout ' .. string.sub(found, 1, 32) .. ' in key ' .. key ..
    ', expected ' .. expected)
end

-- The reply of a reading command; or an error as the first value.
local function read(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) == 'table' and reply.err then
    if not string.find(reply.err, 'WRONGTYPE', 1, true) then return reply end
    return wrong_type(key, TYPES[string.sub(command, 1, 1)])
  end
  is_sound[key] = true
  return nil, reply
end

-- The values that a command such as HMGET reads for any number of members, false for missing ones; or an error as the
-- first value.
local function read_each(command, key, members)
  local values = {}
  for i = 1, #members, CHUNK do
    local failure, some = read(command, key, unpack(members, i, math.min(i + CHUNK - 1, #members)))
    if failure then return failure end
    if #members <= CHUNK then return nil, some end
    for j = 1, #some do
      values[i + j - 1] = some[j]
    end
  end
  return nil, values
end

-- The values of any number of fields, false for missing ones; or an error as the first value.
local function read_fields(key, fields)
  return read_each('HMGET', key, fields)
end

-- Whether one text comes before another in the order of bytes. Lua's own order is that of the locale.
local function precedes(a, b)
  for i = 1, math.min(#a, #b) do
    local of_a, of_b = string.byte(a, i), string.byte(b, i)
    if of_a ~= of_b then return of_a < of_b end
  end
  return #a < #b
end

-- The writes of a step are gathered first. So each key is checked before the first write, a step that fails changes
-- nothing, and each key is written with few commands.
local writes, by_key = {}, {}

-- The list of strings that are gathered for a command on a key.
local function strings_of(command, key)
  local commands = by_key[key]
  if not commands then
    commands = {}
    by_key[key] = commands
  end
  local strings = commands[command]
  if not strings then
    strings = {}
    commands[command] = strings
    writes[#writes + 1] = {command, key, strings}
  end
  return strings
end

-- Gathers one or two strings for a command on a key.
local function gather(command, key, a, b)
  local strings = strings_of(command, key)
  local count = #strings
  strings[count + 1], strings[count + 2] = a, b
end

-- Does the writes; or returns an error. A server whose memory is full lets a script add data after a command that
-- removes data. So a step that removes nothing first removes from the hash `guard`, unless that is nil: then existing
-- items can still be processed, and only new ones are refused.
local function write_all(guard)
  local removes = false
  for _, write in ipairs(writes) do
    local command, key = write[1], write[2]
    if not is_sound[key] then
      local expected, found = TYPES[string.sub(command, 1, 1)], redis.call('TYPE', key).ok
      if found ~= expected and found ~= 'none' then return wrong_type(key, expected) end
      is_sound[key] = true
    end
    removes = removes or REMOVES[command]
  end
  if guard and not removes then redis.call('HDEL', guard, '') end
  for pass = removes and 1 or 2, 2 do
    for _, write in ipairs(writes) do
      local command, strings = write[1], write[3]
      if (REMOVES[command] and 1 or 2) == pass then
        for i = 1, #strings, CHUNK do
          redis.call(command, write[2], unpack(strings, i, math.min(i + CHUNK - 1, #strings)))
        end
      end
    end
  end
  writes, by_key = {}, {}
end
