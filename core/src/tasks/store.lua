-- The names of a store's keys and what they hold; what every step of tasks begins with.
--
-- KEYS[1] store   hash: task id -> record, see the numbers of its elements below
-- KEYS[2] values  hash: task id -> value; no field for no value
-- KEYS[3] meta    hash: version -> the layout's
-- KEYS[4] queues  zset of scores 0: the queues that hold tasks
-- KEYS[5] levels  hash: queue -> its priorities above 0, the highest first, as in 95
-- KEYS[6] expiry  zset: task id -> when it ceases to exist, if it ever does
-- KEYS[7] none    never there: no step runs while a cluster moves the slot and has only a part of it
-- Those of a queue or a namespace begin with the first and its {tag}, so that they lie in its slot; they
-- are made here because only the records say in which queues the tasks are. The ones below are made here too, as
-- other keys would make every call longer.
local STORE, VALUES, META, QUEUES, LEVELS, EXPIRY = unpack(KEYS, 1, 6)
-- zset of scores 0: the queues that are paused, whether they hold tasks or not.
local PAUSED = STORE .. ':paused'
-- zset: id -> until when it is taken, of tasks that have ended. An id whose time is over is free, even while it is there.
local TAKEN = STORE .. ':taken'
local LAYOUT = 'tasks.v1'

-- The elements of a task's record, which is packed by cmsgpack. Times are milliseconds since the Unix
-- epoch; EXPIRES is 0 for never.
local QUEUE, VERSION, AT, CREATED, MODIFIED, CLAIMANT = 1, 2, 3, 4, 5, 6
local CLAIMS, ATTEMPT, ERR, PRIORITY, EXPIRES = 7, 8, 9, 10, 11
-- How often the task was claimed since it was inserted or changed; 1 if that claim was cancelled, else 0; the
-- headers by name, of each the name and then the value, either behind its length in two bytes, the higher one first;
-- for how many milliseconds after its end its id is taken. Those at the end that are 0 or empty are not there.
local UNENDED, CANCELLED, HEADERS, DEDUP_WINDOW = 12, 13, 14, 15

-- zset: task id -> at, of the tasks of one priority.
local function at_key(queue, priority)
  return STORE .. ':at:' .. priority .. ':' .. queue
end

-- zset: task id -> at, of the tasks whose claims have not ended: while at is to come, they are leased.
local function claimed_key(queue)
  return STORE .. ':claimed:' .. queue
end

-- zset: task id -> at, of the tasks that were claimed before and are not now: while at is to come, they wait to be tried again.
local function retrying_key(queue)
  return STORE .. ':retrying:' .. queue
end

-- hash: number of claims, from 1 -> how many tasks were claimed so often.
local function claims_key(queue)
  return STORE .. ':claims:' .. queue
end

local function invalid(message)
  return {err = 'INVALID_ARGUMENT ' .. message}
end

-- The number that a text is, if it is a whole one in canonical form and no more than `max`.
local function whole(text, max)
  if not text or not (text == '0' or string.find(text, '^[1-9]%d*$')) or #text > 15 then return nil end
  local value = tonumber(text)
  return value <= max and value or nil
end


-- The version that a text is; one that no task can have is returned as -1.
local function version_of(text)
  if not text or #text > 20 or not string.find(text, '^%d+$') then return nil end
  local version = tonumber(text)
  return version < INTEGER_MAX and version or -1
end

local function is_name(text)
  return text and text ~= ''
end

local time = redis.call('TIME')
local NOW = time[1] * 1000 + math.floor(time[2] / 1000)

-- The time that an argument says: +<ms> from now on, or =<ms> since the Unix epoch.
local function time_of(text)
  local sign, number = string.sub(text, 1, 1), string.sub(text, 2)
  if sign == '=' then return whole(number, TIME_MS_MAX) end
  local delay = sign == '+' and whole(number, DELAY_MS_MAX)
  return delay and NOW + delay
end

local function is_held(at, claimant, caller)
  return at > NOW and claimant ~= '' and claimant ~= caller
end

-- Whether a step brings new tasks or documents.
local grows = false

-- What becomes of the queues whose tasks a step moves: by name {sizes by priority, or nil as long as
-- no task comes or goes; by how many tasks more than before were claimed so often}.
local queues = {}

local function queue_of(name)
  local queue = queues[name]
  if not queue then
    queue = {claims = {}}
    queues[name] = queue
  end
  return queue
end

-- How many tasks a queue has of each priority, for a step that adds to them; or first an error.
local function sizes_of(name)
  local queue = queue_of(name)
  if queue.sizes then return nil, queue.sizes end
  local failure, levels = read('HGET', LEVELS, name)
  if failure then return failure end
  queue.levels, queue.sizes, queue.size = levels or '', {}, 0
  for level in string.gmatch(queue.levels .. '0', '.') do
    local failure, size = read('ZCARD', at_key(name, level))
    if failure then return failure end
    queue.sizes[tonumber(level)] = size
    queue.size = queue.size + size
  end
  return nil, queue.sizes
end

local function count_claims(name, claims, change)
  if claims == 0 then return end
  local counts = queue_of(name).claims
  counts[claims] = (counts[claims] or 0) + change
end

-- Which of those two a task is in; nothing for one that was never claimed.
local function claims_list(task)
  if (task[UNENDED] or 0) > 0 then return claimed_key(task[QUEUE]) end
  return task[CLAIMS] > 0 and retrying_key(task[QUEUE]) or nil
end

-- Gathers what takes a task out of its queue; returns an error.
local function leave(id, task)
  local name, priority = task[QUEUE], task[PRIORITY]
  local failure, sizes = sizes_of(name)
  if failure then return failure end
  sizes[priority] = (sizes[priority] or 0) - 1
  gather('ZREM', at_key(name, priority), id)
  if task[CLAIMS] > 0 then gather('ZREM', claims_list(task), id) end
  count_claims(name, task[CLAIMS], -1)
end

-- Gathers what takes a task out of the store, which has ended now or when it expired; returns an error.
local function remove(id, task)
  gather('HDEL', STORE, id)
  gather('HDEL', VALUES, id)
  local ended = NOW
  if task[EXPIRES] > 0 then
    gather('ZREM', EXPIRY, id)
    ended = math.min(NOW, task[EXPIRES])
  end
  local taken_until = ended + (task[DEDUP_WINDOW] or 0)
  if taken_until > NOW then gather('ZADD', TAKEN, taken_until, id) end
  return leave(id, task)
end

-- By queue: how many tasks were put that are available, and by key of a level the soonest time of
-- those that are not.
local ready, soonest = {}, {}

-- A wait looks again after five seconds anyway, so what is due later needs no announcement.
local ANNOUNCED_MS_MAX = 6000

-- Notes tasks that were put into a level of a queue, or the first of them if they are not available.
local function note(name, key, at, tasks)
  if at <= NOW then
    ready[name] = (ready[name] or 0) + tasks
  elseif at <= NOW + ANNOUNCED_MS_MAX then
    local levels = soonest[name] or {}
    levels[key], soonest[name] = math.min(at, levels[key] or at), levels
  end
end

-- The claims of a task have come to their end, by a change or a release.
local function end_claims(task)
  task[UNENDED], task[CANCELLED] = nil, nil
end

local function set_headers(task, headers)
  task[HEADERS] = headers ~= '' and headers or nil
end

-- The record of a task, or of a document by its own kinds of elements; nothing where it is damaged.
local TASK_KINDS = {
  'string', 'number', 'number', 'number', 'number', 'string', 'number', 'number', 'string', 'number', 'number',
}
local function unpack_record(packed, kinds)
  local is_read, record, surplus = pcall(cmsgpack.unpack, packed)
  if not is_read or type(record) ~= 'table' or surplus ~= nil then return nil end
  for i = 1, #kinds do
    if type(record[i]) ~= kinds[i] then return nil end
  end
  return record
end

local function corrupt(what, id)
  return {err = 'CORRUPT the record of ' .. what .. ' ' .. id .. ' cannot be read; it is left as it is'}
end

-- The records of tasks in place of what is stored of them, false for those that are not there; returns an error. `queue`
-- is where they are, if that is known.
local function unpack_tasks(ids, records, queue)
  for i, id in ipairs(ids) do
    records[i] = records[i] and unpack_record(records[i], TASK_KINDS)
    if records[i] == nil then
      return corrupt((queue and 'a task of the queue ' .. queue .. ' in ' or 'a task in ') .. STORE .. ',', id)
    end
  end
end

-- A task as it is stored: what is not there at the end costs nothing, and before that there are no gaps.
local function pack(task)
  if task[DEDUP_WINDOW] then task[HEADERS] = task[HEADERS] or '' end
  if task[HEADERS] then task[UNENDED], task[CANCELLED] = task[UNENDED] or 0, task[CANCELLED] or 0 end
  return cmsgpack.pack(task)
end

-- Gathers what a task's record and time become, in the queue where it is. `listed` is the claims_list that it was in.
local function put(id, task, listed)
  local name, at, key = task[QUEUE], task[AT], at_key(task[QUEUE], task[PRIORITY])
  gather('HSET', STORE, id, pack(task))
  gather('ZADD', key, at, id)
  local list = claims_list(task)
  if listed and listed ~= list then gather('ZREM', listed, id) end
  if list then gather('ZADD', list, at, id) end
  note(name, key, at, 1)
end

-- Gathers what puts a task into a queue where it was not; returns an error.
local function enter(id, task)
  local failure, sizes = sizes_of(task[QUEUE])
  if failure then return failure end
  sizes[task[PRIORITY]] = (sizes[task[PRIORITY]] or 0) + 1
  count_claims(task[QUEUE], task[CLAIMS], 1)
  put(id, task)
end

-- Gathers what becomes of a queue's levels and its name when tasks came or went.
local function settle_sizes(name, queue)
  local levels, size = '', 0
  for priority = 9, 0, -1 do
    local tasks = queue.sizes[priority] or 0
    if priority > 0 and tasks > 0 then levels = levels .. priority end
    size = size + tasks
  end
  if levels ~= queue.levels then
    if levels == '' then gather('HDEL', LEVELS, name) else gather('HSET', LEVELS, name, levels) end
  end
  if size == 0 and queue.size > 0 then gather('ZREM', QUEUES, name) end
  if size > 0 and queue.size == 0 then gather('ZADD', QUEUES, 0, name) end
end

-- Gathers what becomes of the counts of claims; returns an error.
local function settle_claims(name, queue)
  local fields = {}
  for claims, change in pairs(queue.claims) do
    if change ~= 0 then fields[#fields + 1] = claims end
  end
  if #fields == 0 then return end
  local key = claims_key(name)
  local failure, counts = read_fields(key, fields)
  if failure then return failure end
  for i, claims in ipairs(fields) do
    local count = (tonumber(counts[i]) or 0) + queue.claims[claims]
    if count > 0 then gather('HSET', key, claims, count) else gather('HDEL', key, claims) end
  end
end

-- How many ids whose time is over a step forgets.
local FORGOTTEN_MAX = 1000

-- Forgets ids of ended tasks: some of those whose time is over, and the first to be free of those that are too many.
-- This comes after the writes, so that on a server whose memory is full it is no removal that lets something new in.
local function forget()
  local over, size = redis.call('ZCOUNT', TAKEN, '-inf', NOW), redis.call('ZCARD', TAKEN)
  local left = math.max(math.min(over, FORGOTTEN_MAX), size - DEDUP_IDS_MAX)
  while left > 0 do
    local ids = redis.call('ZRANGE', TAKEN, 0, math.min(left, CHUNK) - 1)
    redis.call('ZREM', TAKEN, unpack(ids))
    left = left - #ids
  end
end

-- Writes all that was gathered and what follows from it for the queues; or returns an error, and
-- nothing has changed.
local function commit()
  for name, queue in pairs(queues) do
    if queue.sizes then settle_sizes(name, queue) end
    local failure = settle_claims(name, queue)
    if failure then return failure end
  end
  local failure, taken = read('ZCARD', TAKEN)
  if failure then return failure end
  failure = write_all(not grows and META)
  queues = {}
  if not failure and taken > 0 then forget() end
  return failure
end

-- A user may lack the right to a channel; waits find the tasks by themselves then, only later. A queue that is
-- paused has nothing for them.
local function publish(queue, message)
  if type(redis.pcall('ZSCORE', PAUSED, queue)) == 'string' then return end
  redis.pcall('PUBLISH', STORE .. ':queue:' .. queue, message)
end

-- Tells who waits for a queue how many tasks became available.
local function announce_ready()
  for name, tasks in pairs(ready) do
    publish(name, tasks)
  end
end

-- Tells who waits for a queue when its first task will be available, if that was put there just now.
local function announce_soonest()
  for name, levels in pairs(soonest) do
    local first
    for key, at in pairs(levels) do
      if tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]) == at then first = math.min(at, first or at) end
    end
    if first then publish(name, '+' .. first - NOW) end
  end
end

-- Checks that the keys are a store's; returns an error, and whether the store was ever written to.
local function check()
  local failure, version = read('HGET', META, 'version')
  if failure then return failure end
  if version then
    if version == LAYOUT then return nil, true end
    return wrong_layout(META, version, LAYOUT)
  end
  for _, key in ipairs({STORE, STORE .. ':docs'}) do
    local failure, size = read('HLEN', key)
    if failure then return failure end
    if size > 0 then
      return redis.error_reply('INCOMPATIBLE_VERSION key ' .. key .. ' holds a hash but key ' .. META ..
        ' holds no version, expected ' .. LAYOUT)
    end
  end
  return nil, false
end

-- How many tasks a step removes that have ceased to exist. Where there are more it returns AGAIN, so
-- that other clients do not wait for long, and the client sends the step again.
local EXPIRED_MAX = 2000

-- Removes the tasks that have ceased to exist; returns an error.
local function expire()
  local failure, ids = read('ZRANGEBYSCORE', EXPIRY, '-inf', NOW, 'LIMIT', 0, EXPIRED_MAX)
  if failure or #ids == 0 then return failure end
  local failure, records = read_fields(STORE, ids)
  if failure then return failure end
  for i, id in ipairs(ids) do
    -- One that is damaged stays where it is, and does not stop the others.
    local task = records[i] and unpack_record(records[i], TASK_KINDS)
    if task then
      failure = remove(id, task)
      if failure then return failure end
    else
      gather('ZREM', EXPIRY, id)
    end
  end
  failure = commit()
  if failure then return failure end
  if #ids == EXPIRED_MAX then return redis.error_reply('AGAIN more tasks may have expired') end
end

-- What every step does that looks at tasks: returns an error, and whether the store was ever written
-- to.
local function begin()
  local failure, is_made = check()
  if failure then return failure end
  return expire(), is_made
end

-- Appends a task as it is returned, in fourteen elements.
local function push_task(reply, id, task, value)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = id, task[VERSION], task[QUEUE], task[AT]
  reply[n + 5], reply[n + 6], reply[n + 7] = task[CREATED], task[MODIFIED], task[CLAIMANT]
  reply[n + 8], reply[n + 9], reply[n + 10] = task[CLAIMS], task[ATTEMPT], task[ERR]
  reply[n + 11], reply[n + 12], reply[n + 13] = value, task[PRIORITY], task[EXPIRES]
  reply[n + 14] = task[HEADERS] or ''
end

-- The end of the range of all that begins with a prefix, for commands by lex.
local function end_of(prefix)
  local rest = string.match(prefix, '^(.-)\255*$')
  if rest == '' then return '+' end
  return '(' .. string.sub(rest, 1, -2) .. string.char(string.byte(rest, -1) + 1)
end

-- The names in a zset of scores 0 that a filter lets through, in the order of bytes; or first an
-- error. ARGV[at] is how many at most, ARGV[at + 1] how many exact names there are; they and then the
-- prefixes follow. All names if none are said.
local function names_in(key, at)
  local limit, exact = whole(ARGV[at], STATS_MAX), whole(ARGV[at + 1], #ARGV)
  if not limit or limit < 1 then return invalid('the limit is not a whole number from 1 to ' .. STATS_MAX) end
  if not exact or exact > #ARGV - at - 1 then return invalid('there are fewer names than it says') end
  local parts = {}
  for i = at + 2, #ARGV do
    parts[#parts + 1] = {text = ARGV[i], is_prefix = i > exact + at + 1}
  end
  if #parts == 0 then parts[1] = {text = '', is_prefix = true} end
  table.sort(parts, function(a, b)
    if a.text == b.text then return a.is_prefix and not b.is_prefix end
    return precedes(a.text, b.text)
  end)

  -- In this order the parts of the reply come one behind the other, and what a part covers comes
  -- right after it.
  local names, last = {}, nil
  for _, part in ipairs(parts) do
    local text = part.text
    local is_covered = last and (text == last.text or last.is_prefix and string.sub(text, 1, #last.text) == last.text)
    if not is_covered and #names < limit then
      last = part
      local first, to = '[' .. text, '[' .. text
      if part.is_prefix then to = end_of(text) end
      local failure, some = read('ZRANGEBYLEX', key, first, to, 'LIMIT', 0, limit - #names)
      if failure then return failure end
      for _, name in ipairs(some) do
        names[#names + 1] = name
      end
    end
  end
  return nil, names
end
