-- Lists a page of a queue's tasks, by time and id.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry  KEYS[7] none
-- ARGV[1] queue
-- ARGV[2] limit           tasks to look at, from 1
-- ARGV[3] after_at_ms     of the task that the page comes after; empty for the first page
-- ARGV[4] after_id        its id; empty for the first page
-- ARGV[5] claimant        only tasks that are its or available; empty for all
-- ARGV[6] omits_values    1 to leave the values out, else 0
-- returns {{fourteen elements for each task}}, with at and id of the last that was looked at behind if there are more
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT, AGAIN
local name = ARGV[1]
if not is_name(name) then return invalid('the queue has no name') end
local failure, page = page_at(2, PAGE_MAX)
if failure then return failure end
if not ARGV[5] then return invalid('there is no claimant') end
if ARGV[6] ~= '0' and ARGV[6] ~= '1' then return invalid('omits_values is neither 0 nor 1') end

local failure = begin()
if failure then return failure end
local failure, ids, records, last_at = read_page(name, page)
if failure then return failure end
local shown, tasks = {}, {}
for i, id in ipairs(ids) do
  local task = records[i]
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
if last_at then return {reply, last_at, ids[#ids]} end
return {reply}
