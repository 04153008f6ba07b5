-- Counts the tasks of queues.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry  KEYS[7] none
-- ARGV[1] limit  queues, from 1
-- ARGV[2] exact  how many exact names there are
-- ARGV[3…] the exact names, and behind them prefixes; all queues if there are none
-- returns {queue, size, available, claimed, future, max claims, …}, by name
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, AGAIN
local failure = begin()
if failure then return failure end
local failure, names = names_in(QUEUES)
if failure then return failure end
local failure, levels = read_fields(LEVELS, names)
if failure then return failure end

local reply = {}
for i, name in ipairs(names) do
  local size, available, max_claims = 0, 0, 0
  for level in string.gmatch((levels[i] or '') .. '0', '.') do
    local key = at_key(name, level)
    local failure, tasks = read('ZCARD', key)
    if failure then return failure end
    size = size + tasks
    available = available + redis.call('ZCOUNT', key, '-inf', NOW)
  end
  local failure, claimed = read('ZCOUNT', claimed_key(name), string.format('(%.0f', NOW), '+inf')
  if failure then return failure end
  local failure, counts = read('HKEYS', claims_key(name))
  if failure then return failure end
  for _, claims in ipairs(counts) do
    max_claims = math.max(max_claims, tonumber(claims))
  end
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = name, size, available
  reply[n + 4], reply[n + 5], reply[n + 6] = claimed, size - available - claimed, max_claims
end
return reply
