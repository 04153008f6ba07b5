-- Leases available tasks of some queues, of each one of the oldest at random.
--
-- A program that ends in the middle of a task takes all that it held with it. So a task to which that has happened more
-- often is a suspect: it is claimed alone, and its claim counts as one that did not end only once its claimant says that
-- the work on it begins (begin.lua), when it has nothing else. So the next end says which one it was.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry  KEYS[7] none
-- ARGV[1] claimant
-- ARGV[2] lease_ms
-- ARGV[3] max         tasks, from 1
-- ARGV[4] seed        of all that is left to chance, below 2^32
-- ARGV[5] is_waiting  1 to return when the next tasks are available as well, else 0
-- ARGV[6] is_each     1 for a claimant of its own for each task: this one, '.' and its number from 1; else 0
-- ARGV[7] suspects    from how many claims without an end on a task is a suspect; 0 for never
-- ARGV[8…] queues
-- returns {{fourteen elements for each task},
--   {for each queue: milliseconds until its next task is available, -1 if it is empty or paused}, nothing if not waiting,
--   {for each task how often it was claimed since it was inserted, changed or released}}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, AGAIN
local CALLER, lease = ARGV[1], whole(ARGV[2], DELAY_MS_MAX)
local max, seed = whole(ARGV[3], CLAIM_TASKS_MAX), whole(ARGV[4], 2 ^ 32 - 1)
if not is_name(CALLER) then return invalid('there is no claimant') end
if not lease then return invalid('lease_ms is not a whole number up to 100 years') end
if not max or max < 1 then return invalid('max is not a whole number from 1 to ' .. CLAIM_TASKS_MAX) end
if not seed then return invalid('seed is not a whole number below 2^32') end
if ARGV[5] ~= '0' and ARGV[5] ~= '1' then return invalid('is_waiting is neither 0 nor 1') end
if ARGV[6] ~= '0' and ARGV[6] ~= '1' then return invalid('is_each is neither 0 nor 1') end
local suspects = whole(ARGV[7], 2 ^ 32 - 1)
if not suspects then return invalid('suspects is not a whole number below 2^32') end
local names, is_named = {}, {}
for i = 8, #ARGV do
  if not is_name(ARGV[i]) or is_named[ARGV[i]] then return invalid('a queue has no name, or is named twice') end
  names[i - 7], is_named[ARGV[i]] = ARGV[i], true
end
if #names == 0 or #names > CLAIM_QUEUES_MAX then return invalid('there are not 1 to ' .. CLAIM_QUEUES_MAX .. ' queues') end

local failure = begin()
if failure then return failure end
local failure, levels = read_fields(LEVELS, names)
if failure then return failure end
local failure, paused = read('ZMSCORE', PAUSED, unpack(names))
if failure then return failure end
-- The levels to look at: none of a queue that is paused, as if it were empty.
for i = 1, #names do
  levels[i] = paused[i] and '' or (levels[i] or '') .. '0'
end

-- The minimal standard generator. What it draws is what the embedded engine draws.
local HALF = math.floor(CHANCE_MODULUS / 2)
local chance = seed % (CHANCE_MODULUS - 1) + 1
local function draw()
  chance = chance * CHANCE_FACTOR % CHANCE_MODULUS
  return chance
end

local order = {}
for i = 1, #names do
  order[i] = i
end
for last = #order - 1, 1, -1 do
  local other = draw() % (last + 1)
  order[last + 1], order[other + 1] = order[other + 1], order[last + 1]
end

-- Picks of a level as many as are wanted, each from the first that are left: the oldest with a chance
-- of one half, the next with half of that, and so on. Returns an error.
local ids, keys
local function pick(key)
  local wanted = max - #ids
  local failure, available = read('ZRANGEBYSCORE', key, '-inf', NOW, 'LIMIT', 0, wanted + PICK_WINDOW - 1)
  if failure then return failure end
  local window, behind = {}, 1
  for _ = 1, math.min(wanted, #available) do
    while #window < PICK_WINDOW and behind <= #available do
      window[#window + 1], behind = available[behind], behind + 1
    end
    local picked = 1
    while picked < #window and draw() < HALF do
      picked = picked + 1
    end
    ids[#ids + 1], keys[#ids + 1] = table.remove(window, picked), key
  end
end

-- Puts those tasks to the ends of their queues whose records are damaged or gone, where no claim finds them; returns
-- whether there were any. The others are claimed as if these were not there.
local function set_aside(records)
  local is_any = false
  for i, id in ipairs(ids) do
    records[i] = records[i] and unpack_record(records[i], TASK_KINDS)
    if not records[i] then
      is_any = true
      -- A server that is full refuses what may need memory, unless the script has already written.
      redis.call('ZREM', keys[i], id)
      redis.call('ZADD', keys[i], TIME_MS_MAX, id)
    end
  end
  return is_any
end

local records
repeat
  ids, keys = {}, {}
  for _, i in ipairs(order) do
    for level in string.gmatch(levels[i], '.') do
      if #ids < max then
        failure = pick(at_key(names[i], level))
        if failure then return failure end
      end
    end
  end
  failure, records = read_fields(STORE, ids)
  if failure then return failure end
until not set_aside(records)

local function is_suspect(task)
  return suspects > 0 and (task[UNENDED] or 0) >= suspects
end

-- One that is not the first is left for the next claim.
for i = 1, #ids do
  if is_suspect(records[i]) then
    for j = #ids, math.max(i, 2), -1 do
      ids[j], keys[j], records[j] = nil, nil, nil
    end
    break
  end
end

-- All keys that are read after the writes are found sound before them.
if ARGV[5] == '1' then
  for i, name in ipairs(names) do
    for level in string.gmatch(levels[i], '.') do
      if not is_sound[at_key(name, level)] then
        failure = read('ZCARD', at_key(name, level))
        if failure then return failure end
      end
    end
  end
end

local tasks, unended = {}, {}
if #ids > 0 then
  local failure, values = read_fields(VALUES, ids)
  if failure then return failure end
  for i, id in ipairs(ids) do
    local task = records[i]
    local claims, listed = task[CLAIMS], claims_list(task)
    count_claims(task[QUEUE], claims, -1)
    count_claims(task[QUEUE], claims + 1, 1)
    task[VERSION], task[AT], task[MODIFIED] = task[VERSION] + 1, NOW + lease, NOW
    task[CLAIMANT] = ARGV[6] == '1' and CALLER .. '.' .. i or CALLER
    unended[i] = (task[UNENDED] or 0) + 1
    task[CLAIMS], task[UNENDED] = claims + 1, is_suspect(task) and task[UNENDED] or unended[i]
    task[CANCELLED] = nil
    put(id, task, listed)
    push_task(tasks, id, task, values[i])
  end
  failure = commit()
  if failure then return failure end
  announce_soonest()
end

local next_in = {}
if ARGV[5] == '1' then
  for i, name in ipairs(names) do
    next_in[i] = -1
    for level in string.gmatch(levels[i], '.') do
      local at = redis.call('ZRANGE', at_key(name, level), 0, 0, 'WITHSCORES')[2]
      if at then
        local ms = math.max(0, at - NOW)
        next_in[i] = next_in[i] < 0 and ms or math.min(ms, next_in[i])
      end
    end
  end
end
return {tasks, next_in, unended}
