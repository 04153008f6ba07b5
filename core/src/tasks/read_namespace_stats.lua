-- Counts the documents of namespaces.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry
-- KEYS[7] none  KEYS[8] docs  KEYS[9] contents  KEYS[10] namespaces
-- ARGV[1] limit  namespaces, from 1
-- ARGV[2] exact  how many exact names there are
-- ARGV[3…] the exact names, and behind them prefixes; all namespaces if there are none
-- returns {namespace, size, claimed, …}, by name
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, AGAIN
local failure = check()
if failure then return failure end
local failure, names = names_in(NAMESPACES, 1)
if failure then return failure end

local reply = {}
for _, name in ipairs(names) do
  local failure, size = read('ZCARD', keys_key(name))
  if failure then return failure end
  local failure, claimed = read('ZCOUNT', held_key(name), string.format('(%.0f', NOW), '+inf')
  if failure then return failure end
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = name, size, claimed
end
return reply
