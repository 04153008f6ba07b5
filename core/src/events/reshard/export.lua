-- Export: the next batch of the part that a partition gives away. It stays here until the other partition has it.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  of the change
-- ARGV[2] taken       number of the batch that the other partition has, which is removed; 0 for none
-- ARGV[3] max         about how many events; 0 for the requested items only
-- ARGV[4…]            the requested items: ids after a #, names after a =, schedules after a @
-- Returns {number of the batch, 0 for none; 1 if nothing is left, in which case the number is that of the last batch},
-- and for each item seven strings. For an event: its state as in fetch.lua and the time of that; until when its name is
-- remembered (0 while it has it, -1 for none); and the values of return_event(). For a name whose event has ended:
-- `name`, until when it is remembered, empty, the event's id, the name, empty, empty. For a schedule: `schedule`, when
-- it is checked (0 for never), empty, the id of its last event, its id, itself as in SCHEDULE, its template.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

-- By the numbers of states; 2 means behind another event.
local PLACES = {[1] = SCHEDULED, [3] = READY, [4] = LEASED, [5] = RETRY, [6] = DEAD, [7] = DONE}
local BEHIND = 2
-- How many pages a step scans.
local PAGES_MAX = 50
-- The hashes that are scanned one after the other: the offset of the part of the key space, in the ids of events, in
-- the values of names, and in schedules; and the next hash.
local HASHES = {events = {EVENTS, 11, 'names'}, names = {NAMES, 11, 'schedules'}, schedules = {SCHEDULES, 47, 'done'}}
-- The offset of the id of its last event in a schedule.
local LAST_EVENT = 35

local failure = begin()
if failure then return failure end
local failure, root = read('HMGET', ROOT, 'leaving', 'out', 'cursor', 'sent')
if failure then return failure end
local leaving, out, cursor, sent = unpack(root)
if not leaving then return {0, 1} end
out = out and cmsgpack.unpack(out)
local max, reply = tonumber(ARGV[3]), {0, 0}

local bounds = {}
for from, to in string.gmatch(leaving, '(%x+)-(%x+)') do
  bounds[#bounds + 1], bounds[#bounds + 2] = tonumber(from, 16), tonumber(to, 16)
end

-- Whether an item leaves, whose part of the key space is in these bytes at `from`.
local function is_leaving(bytes, from)
  local vslot = struct.unpack('>I2', bytes, from)
  for i = 1, #bounds, 2 do
    if bounds[i] <= vslot and vslot <= bounds[i + 1] then return true end
  end
  return false
end

-- Removes the items that the other partition has; returns an error.
local function drop(ids, names, schedules)
  local failure, heads = read_fields(EVENTS, ids)
  if failure then return failure end
  local lists = {}
  for i, id in ipairs(ids) do
    local head = heads[i]
    if head then
      for _, key in pairs(PLACES) do
        gather('ZREM', key, id)
      end
      gather('HDEL', EVENTS, id)
      gather('HDEL', STATE, id)
      if flag(string.byte(head, 2), LONG) then gather('HDEL', BODIES, id) end
      if flag(string.byte(head, 2), KEYED) then
        -- Events of the key are not delivered here any more, so its lane has no meaning.
        local key = key_of(head)
        local failure, length = read('LLEN', LANE .. key)
        if failure then return failure end
        gather('HDEL', LANES, key)
        if length > 0 then lists[#lists + 1] = LANE .. key end
      end
      if flag(string.byte(head, 2), NAMED) then
        local name = name_of(head)
        local failure, owner = read('HGET', NAMES, name)
        if failure then return failure end
        if owner == id then names[#names + 1] = name end
      end
    end
  end
  for _, name in ipairs(names) do
    gather('HDEL', NAMES, name)
    gather('ZREM', FORGET, name)
  end
  for _, schedule in ipairs(schedules) do
    gather('HDEL', SCHEDULES, schedule)
    gather('HDEL', TEMPLATES, schedule)
    gather('ZREM', TICKS, schedule)
  end
  gather('HDEL', ROOT, 'out')
  local failure = commit()
  if failure then return failure end
  for _, list in ipairs(lists) do
    redis.call('UNLINK', list)
  end
end

-- Appends events to the reply, by their ids, as many as fit; returns an error, and how many do.
local function return_all(ids)
  if #ids == 0 then return nil, 0 end
  local failure, heads, states = records_of(ids)
  if failure then return failure end
  local numbers, times, bytes = {}, {}, 0
  for place, key in pairs(PLACES) do
    local failure, scores = read('ZMSCORE', key, unpack(ids))
    if failure then return failure end
    for i = 1, #ids do
      if scores[i] then numbers[i], times[i] = place, scores[i] end
    end
  end
  for i, id in ipairs(ids) do
    local head = heads[i]
    if head then
      local named_until = '-1'
      if flag(string.byte(head, 2), NAMED) then
        local name = name_of(head)
        local failure, owner = read('HGET', NAMES, name)
        if failure then return failure end
        local failure, remembered = read('ZSCORE', FORGET, name)
        if failure then return failure end
        if owner == id then named_until = remembered or '0' end
      end
      local n = #reply
      reply[n + 1], reply[n + 2], reply[n + 3] = tostring(numbers[i] or BEHIND), times[i] or '0', named_until
      local failure, more = return_event(reply, id, head, states[i] or '')
      if failure then return failure end
      bytes = bytes + #head + more
      if bytes > BATCH_BYTES then return nil, i end
    end
  end
  return nil, #ids
end

-- Appends names of events that have ended to the reply; returns an error.
local function return_names(names)
  for _, name in ipairs(names) do
    local failure, owner = read('HGET', NAMES, name)
    if failure then return failure end
    local failure, remembered = read('ZSCORE', FORGET, name)
    if failure then return failure end
    if owner and remembered then
      local n = #reply
      reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = 'name', remembered, '', owner
      reply[n + 5], reply[n + 6], reply[n + 7] = name, '', ''
    end
  end
end

-- Appends schedules to the reply; returns an error.
local function return_schedules(schedules)
  for _, id in ipairs(schedules) do
    local failure, record = read('HGET', SCHEDULES, id)
    if failure then return failure end
    local failure, template = read('HGET', TEMPLATES, id)
    if failure then return failure end
    local failure, look_at = read('ZSCORE', TICKS, id)
    if failure then return failure end
    if record then
      local n = #reply
      reply[n + 1], reply[n + 2], reply[n + 3] = 'schedule', look_at or '0', ''
      reply[n + 4] = string.sub(record, LAST_EVENT, LAST_EVENT + 11)
      reply[n + 5], reply[n + 6], reply[n + 7] = id, record, template or ''
    end
  end
end

-- The requested items that are here; or an error as the first value.
local function asked()
  local ids, names, schedules = {}, {}, {}
  for i = 4, #ARGV do
    local what, value = string.sub(ARGV[i], 1, 1), string.sub(ARGV[i], 2)
    local id = value
    if what == '=' then
      local failure, owner = read('HGET', NAMES, value)
      if failure then return failure end
      id = owner
    elseif what == '@' then
      -- With the schedule's last event, which its next tick may replace.
      local failure, record = read('HGET', SCHEDULES, value)
      if failure then return failure end
      id = record and string.sub(record, LAST_EVENT, LAST_EVENT + 11)
      if record then schedules[#schedules + 1] = value end
    end
    local failure, is_here
    if id then failure, is_here = read('HGET', EVENTS, id) end
    if failure then return failure end
    if is_here then
      ids[#ids + 1] = id
    elseif id and what == '=' then
      names[#names + 1] = value
    end
  end
  return nil, ids, names, schedules
end

-- The next items of the hash that the cursor is in; or an error as the first value. A hash in which a scan has found
-- items is scanned once more, until nothing is found: a cursor has no meaning on a server that has taken over since.
local function scan()
  for _ = 1, PAGES_MAX do
    local what, at, has_found = string.match(cursor, '(%a+) (%d+)(%*?)')
    if what == 'done' then break end
    local hash, from = unpack(HASHES[what])
    local failure, page = read('HSCAN', hash, at, 'COUNT', max)
    if failure then return failure end
    local found, after = {}, page[1]
    for i = 1, #page[2], 2 do
      local field, value = page[2][i], page[2][i + 1]
      if is_leaving(hash == EVENTS and field or value, from) then found[#found + 1] = field end
    end
    if after ~= '0' then
      cursor = what .. ' ' .. after .. (#found > 0 and '*' or has_found)
    elseif #found > 0 or has_found ~= '' then
      cursor = what .. ' 0'
    else
      cursor = HASHES[what][3] .. ' 0'
    end
    if #found > 0 then
      if hash == EVENTS then return nil, found, {}, {}, what .. ' ' .. at .. '*' end
      return nil, {}, hash == NAMES and found or {}, hash == SCHEDULES and found or {}
    end
  end
  return nil, {}, {}, {}
end

if out and out[1] == tonumber(ARGV[2]) then
  local failure = drop(out[2], out[3], out[4])
  if failure then return failure end
  out = nil
end
if out then
  local failure = return_all(out[2]) or return_names(out[3]) or return_schedules(out[4])
  if failure then return failure end
  reply[1] = out[1]
  return reply
end

local failure, ids, names, schedules, page
if max == 0 then
  failure, ids, names, schedules = asked()
elseif cursor ~= 'done 0' then
  failure, ids, names, schedules, page = scan()
else
  ids, names, schedules = {}, {}, {}
end
if failure then return failure end
local failure, count = return_all(ids)
if failure then return failure end
-- The rest of the page is found again by the next step.
if count < #ids and page then cursor = page end
for i = #ids, count + 1, -1 do
  ids[i] = nil
end
failure = return_names(names) or return_schedules(schedules)
if failure then return failure end
local count_of_all = #ids + #names + #schedules
if count_of_all > 0 then
  reply[1] = tonumber(sent) + 1
  gather('HSET', ROOT, 'sent', reply[1])
  gather('HSET', ROOT, 'out', cmsgpack.pack({reply[1], ids, names, schedules}))
end
gather('HSET', ROOT, 'cursor', cursor)
if count_of_all == 0 and cursor == 'done 0' then reply[1], reply[2] = tonumber(sent), 1 end
local failure = commit()
if failure then return failure end
return reply
