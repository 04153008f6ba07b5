-- Cancel: removes events that are not leased, and asks the holders of those that are to stop.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  the partition's, as the map says
-- ARGV[2] running     1 to ask the holders of those that are leased to stop
-- ARGV[3…]            ids
-- Returns of each {0 if it is not there, 1 if it was removed, 2 if it is leased}.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local failure = begin()
if failure then return failure end
local ids, results = every(ARGV, 3, 1), {}
local failure, heads = read_fields(EVENTS, ids)
failure = failure or hide_done(ids, heads)
if failure then return failure end
for i, id in ipairs(ids) do
  local head = heads[i]
  local failure, leased_until = read('ZSCORE', LEASED, id)
  if failure then return failure end
  results[i] = not head and 0 or leased_until and 2 or 1
  if head and flag(string.byte(head, 2), CANCELLED) then
    results[i] = 0
  elseif head and not leased_until then
    local failure = withdraw(id, head)
    if failure then return failure end
  elseif head and ARGV[2] == '1' then
    local failure, record = read('HGET', STATE, id)
    if failure then return failure end
    local state = read_state(record)
    if not flag(state.marks, ASKED_TO_STOP) then
      state.marks = state.marks + ASKED_TO_STOP
      put_state(id, state)
    end
  end
end
local failure = commit()
if failure then return failure end
announce()
return results
