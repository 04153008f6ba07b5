-- Renew: extends leases.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  the partition's, as in the map
-- ARGV[2] lease       microseconds from now; 0 for the lease of the configuration
-- ARGV[3] begins      1 if the holder starts them: an expiring lease of a suspect counts from now on; else 0
-- ARGV[4…]            for each delivery {id, token}
-- Returns {until when they are leased}, followed by, for each, 0 if it is not leased by this token any more, 1 if it
-- is, 2 if the event was cancelled.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local failure = begin()
if failure then return failure end
local lease = tonumber(ARGV[2])
if lease == 0 then lease = LEASE end

local ids = every(ARGV, 4, 2)
local failure, states = read_fields(STATE, ids)
if failure then return failure end
local results = {NOW + lease}
for i, id in ipairs(ids) do
  local state = states[i] and read_state(states[i])
  local failure, leased_until = read('ZSCORE', LEASED, id)
  if failure then return failure end
  local is_held = state and leased_until and state.token == ARGV[2 * i + 3]
  results[i + 1] = not is_held and 0 or flag(state.marks, ASKED_TO_STOP) and 2 or 1
  -- An expired lease that no step has handled yet is held until the event is delivered again.
  if is_held then gather('ZADD', LEASED, number(NOW + lease), id) end
  if is_held and ARGV[3] == '1' and flag(state.marks, UNBEGUN) then
    state.marks = state.marks - UNBEGUN
    put_state(id, state)
  end
end
local failure = commit()
if failure then return failure end
return results
