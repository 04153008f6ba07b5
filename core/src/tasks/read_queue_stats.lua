-- Counts the tasks of queues.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry  KEYS[7] none
-- ARGV[1] with_paused  1 for the queues as well that are paused and hold no task, else 0
-- ARGV[2] limit        queues, from 1
-- ARGV[3] exact        how many exact names there are
-- ARGV[4…] the exact names, and behind them prefixes; all queues if there are none
-- returns {queue, size, available, claimed, retrying, future, max claims, 1 if it is paused else 0, when the oldest available task
--   became available, when the lease ends that ends first, …}, by name; times that there are not are -1
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, AGAIN
if ARGV[1] ~= '0' and ARGV[1] ~= '1' then return invalid('with_paused is neither 0 nor 1') end
local failure = begin()
if failure then return failure end
local failure, names = names_in(QUEUES, 2)
if failure then return failure end
local failure, paused = names_in(PAUSED, 2)
if failure then return failure end

-- Those that are paused and not listed yet come between the others.
local is_listed, is_paused = {}, {}
for _, name in ipairs(names) do
  is_listed[name] = true
end
local with_tasks = #names
for _, name in ipairs(paused) do
  is_paused[name] = true
  if ARGV[1] == '1' and not is_listed[name] then names[#names + 1] = name end
end
if #names > with_tasks then
  table.sort(names, precedes)
  for i = #names, tonumber(ARGV[2]) + 1, -1 do
    names[i] = nil
  end
end
local failure, levels = read_fields(LEVELS, names)
if failure then return failure end

local reply = {}
for i, name in ipairs(names) do
  local size, available, max_claims, oldest = 0, 0, 0, -1
  for level in string.gmatch((levels[i] or '') .. '0', '.') do
    local key = at_key(name, level)
    local failure, tasks = read('ZCARD', key)
    if failure then return failure end
    size = size + tasks
    available = available + redis.call('ZCOUNT', key, '-inf', NOW)
    local first = tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
    if first and first <= NOW and (oldest < 0 or first < oldest) then oldest = first end
  end
  local later = string.format('(%.0f', NOW)
  local failure, claimed = read('ZCOUNT', claimed_key(name), later, '+inf')
  if failure then return failure end
  local failure, retrying = read('ZCOUNT', retrying_key(name), later, '+inf')
  if failure then return failure end
  local lease = redis.call('ZRANGEBYSCORE', claimed_key(name), later, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  local failure, counts = read('HKEYS', claims_key(name))
  if failure then return failure end
  for _, claims in ipairs(counts) do
    max_claims = math.max(max_claims, tonumber(claims))
  end
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = name, size, available
  reply[n + 4], reply[n + 5], reply[n + 6] = claimed, retrying, size - available - claimed - retrying
  reply[n + 7], reply[n + 8] = max_claims, is_paused[name] and 1 or 0
  reply[n + 9], reply[n + 10] = oldest, tonumber(lease or -1)
end
return reply
