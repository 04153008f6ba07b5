-- Lists a page of a queue's tasks, by time and id.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry  KEYS[7] none
-- ARGV[1] queue
-- ARGV[2] limit           tasks to look at, from 1
-- ARGV[3] after_at_ms     of the task that the page comes after; empty for the first page
-- ARGV[4] after_id        its id; empty for the first page
-- ARGV[5] claimant        only tasks that are its or available; empty for all
-- ARGV[6] omits_values    1 to leave the values out, else 0
-- returns {{thirteen elements for each task}}, with at and id of the last that was looked at behind if there are more
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, AGAIN
local name, limit, after_at, after_id = ARGV[1], whole(ARGV[2], 10000), whole(ARGV[3], TIME_MS_MAX), ARGV[4]
if not is_name(name) then return invalid('the queue has no name') end
if not limit or limit < 1 then return invalid('limit is not a whole number from 1 to 10000') end
if not after_id or (after_at == nil) ~= (after_id == '') or not after_at and ARGV[3] ~= '' then
  return invalid('after_at_ms and after_id say no position')
end
if not ARGV[5] then return invalid('there is no claimant') end
if ARGV[6] ~= '0' and ARGV[6] ~= '1' then return invalid('omits_values is neither 0 nor 1') end

local failure = begin()
if failure then return failure end
local failure, levels = read('HGET', LEVELS, name)
if failure then return failure end

-- The rank of the first task of a level behind the position, where the task itself may be gone.
local function rank_behind(key)
  if not after_at then return 0 end
  local score = redis.call('ZSCORE', key, after_id)
  if score and tonumber(score) == after_at then return redis.call('ZRANK', key, after_id) + 1 end
  -- Of the tasks of that time, which are in the order of their ids, a binary search.
  local low = redis.call('ZCOUNT', key, '-inf', string.format('(%.0f', after_at))
  local high = low + redis.call('ZCOUNT', key, after_at, after_at)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local id = redis.call('ZRANGE', key, middle, middle)[1]
    if precedes(after_id, id) then high = middle else low = middle + 1 end
  end
  return low
end

-- Of each level one task more than the page has, so that it is seen whether there are more.
local runs = {}
for level in string.gmatch((levels or '') .. '0', '.') do
  local key = at_key(name, level)
  local failure, size = read('ZCARD', key)
  if failure then return failure end
  if size > 0 then
    local rank = rank_behind(key)
    local run = redis.call('ZRANGE', key, rank, rank + limit, 'WITHSCORES')
    if #run > 0 then runs[#runs + 1] = {strings = run, at = 1} end
  end
end

-- The next task of all levels and its time; nothing if there is none.
local function next_task()
  local best
  for i, run in ipairs(runs) do
    local id, at = run.strings[run.at], tonumber(run.strings[run.at + 1])
    if id and (not best or at < best.score or at == best.score and precedes(id, best.id)) then
      best = {run = i, id = id, score = at}
    end
  end
  if not best then return nil end
  runs[best.run].at = runs[best.run].at + 2
  return best.id, best.score
end

local ids, last_at = {}, nil
while #ids < limit do
  local id, at = next_task()
  if not id then break end
  ids[#ids + 1], last_at = id, at
end
local has_more = next_task() ~= nil

local failure, records = read_fields(STORE, ids)
if failure then return failure end
local shown, tasks = {}, {}
for i, id in ipairs(ids) do
  local task = records[i] and cmsgpack.unpack(records[i])
  if task and (ARGV[5] == '' or task[CLAIMANT] == ARGV[5] or task[AT] <= NOW) then
    shown[#shown + 1] = id
    tasks[#tasks + 1] = task
  end
end
local values = {}
if ARGV[6] == '0' then
  failure, values = read_fields(VALUES, shown)
  if failure then return failure end
end
local reply = {}
for i, id in ipairs(shown) do
  push_task(reply, id, tasks[i], values[i] or false)
end
if has_more then return {reply, last_at, ids[#ids]} end
return {reply}
