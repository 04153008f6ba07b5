-- Goes through some tasks of a queue, by time and id: deletes those that a filter lets through, or moves them to another
-- queue.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry  KEYS[7] none
-- ARGV[1] claimant
-- ARGV[2] queue
-- ARGV[3] to           the queue where they go; empty to delete them
-- ARGV[4] redrives     1 to take away their attempts and err, else 0
-- ARGV[5] limit        tasks to look at, from 1
-- ARGV[6] after_at_ms  of the task that they come after; empty for the first ones
-- ARGV[7] after_id     its id; empty for the first ones
-- ARGV[8] states       a for those that are available, c for the claimed, f for those of the future: any of these
-- ARGV[9] of_claimant  only tasks that are its or available; empty for all
-- ARGV[10] err         what their err begins with
-- ARGV[11] with_held   1 for those as well that another claimant holds, else 0
-- returns {how many}, with at and id of the last that was looked at behind if there are more
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT, AGAIN
local CALLER, name, to, states, of_claimant, err = ARGV[1], ARGV[2], ARGV[3], ARGV[8], ARGV[9], ARGV[10]
if not is_name(CALLER) then return invalid('there is no claimant') end
if not is_name(name) then return invalid('the queue has no name') end
if not to or to == name then return invalid('the tasks have nowhere to go') end
if ARGV[4] ~= '0' and ARGV[4] ~= '1' then return invalid('redrives is neither 0 nor 1') end
local failure, page = page_at(5, SWEEP_TASKS_MAX)
if failure then return failure end
if not states or not string.find(states, '^a?c?f?$') or states == '' then return invalid('states names none') end
if not of_claimant or not err then return invalid('there is no of_claimant or no err') end
if ARGV[11] ~= '0' and ARGV[11] ~= '1' then return invalid('with_held is neither 0 nor 1') end

local function is_let_through(task)
  local is_available = task[AT] <= NOW
  local state = is_available and 'a' or task[CLAIMS] > 0 and 'c' or 'f'
  return string.find(states, state, 1, true)
    and (of_claimant == '' or is_available or task[CLAIMANT] == of_claimant)
    and string.sub(task[ERR], 1, #err) == err
    and (ARGV[11] == '1' or not is_held(task[AT], task[CLAIMANT], CALLER))
end

local failure = begin()
if failure then return failure end
local failure, ids, records, last_at = read_page(name, page)
if failure then return failure end
local count = 0
for i, id in ipairs(ids) do
  local task = records[i]
  if task and is_let_through(task) then
    count = count + 1
    if to == '' then
      failure = remove(id, task)
    else
      failure = leave(id, task)
      if failure then return failure end
      task[QUEUE], task[VERSION], task[MODIFIED] = to, task[VERSION] + 1, NOW
      end_claims(task)
      if ARGV[4] == '1' then task[ATTEMPT], task[ERR] = 0, '' end
      failure = enter(id, task)
    end
    if failure then return failure end
  end
end
failure = commit()
if failure then return failure end
announce_ready()
announce_soonest()
if last_at then return {count, last_at, ids[#ids]} end
return {count}
