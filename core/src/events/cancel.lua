-- Cancel: removes events that are not leased, and tells the holders of leased events to stop, or removes these too.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  the partition's, as the map says
-- ARGV[2] running     1 to tell the holders of leased events to stop, 2 to remove these too
-- ARGV[3…]            ids
-- Returns {for each: 0 if it does not exist, 1 if it was removed, now or in the last ten minutes, 2 if it is leased}.
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
  results[i] = leased_until and ARGV[2] ~= '2' and 2 or 1
  if not head then
    local failure, is_known = use_cancelled().find(id)
    if failure then return failure end
    results[i] = is_known and 1 or 0
  elseif results[i] == 1 then
    local failure
    if leased_until then
      gather('ZREM', LEASED, id)
      unleased = unleased + 1
      failure = remove(id, head, true) or free_lane(head)
    else
      failure = withdraw(id, head)
    end
    failure = failure or use_cancelled().remember(id, leased_until)
    if failure then return failure end
  elseif ARGV[2] == '1' then
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
