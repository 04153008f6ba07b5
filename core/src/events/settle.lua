-- Settle: ends deliveries, each independently of the others.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  the partition's, as in the map
-- ARGV[2] seed        of the backoffs of events that failed
-- ARGV[3…]            for each delivery {id, token, how it ends, after how many microseconds the event is retried
--                     (empty for the backoff of the configuration), what went wrong}. It ends as `done`, `failed`
--                     (retried, or a dead letter, by the configuration), `released` (as if it had not been delivered)
--                     or `dead`.
-- Returns {for each: the outcome, as delivery_end.lua numbers it}.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local failure = begin()
if failure then return failure end
seed_with(tonumber(ARGV[2]))

local ids = every(ARGV, 3, 5)
local failure, heads, states = records_of(ids)
if failure then return failure end

local failure, leased = read('ZMSCORE', LEASED, unpack(ids))
if failure then return failure end

local results = {}
for i, id in ipairs(ids) do
  local at = 5 * i - 2
  local token, how, delay, err = unpack(ARGV, at + 1, at + 4)
  local failure, result = settle(id, heads[i], states[i], leased[i], token, how, delay, err)
  if failure then return failure end
  results[i] = result
end
local failure = expire_done()
if failure then return failure end
local failure = commit()
if failure then return failure end
announce(tried_at)
return results
