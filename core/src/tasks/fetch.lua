-- Looks up tasks by their ids.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry  KEYS[7] none
-- ARGV[1] queue         only tasks that are in it; empty for any
-- ARGV[2] omits_values  1 to leave the values out, else 0
-- ARGV[3…] ids
-- returns {fourteen elements for each task}, in the order of the ids, without those that are not there
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT, AGAIN
if not ARGV[1] then return invalid('there is no queue') end
if ARGV[2] ~= '0' and ARGV[2] ~= '1' then return invalid('omits_values is neither 0 nor 1') end
local ids = {}
for i = 3, #ARGV do
  ids[i - 2] = ARGV[i]
end

local failure = begin()
if failure then return failure end
local failure, records = read_fields(STORE, ids)
if failure then return failure end
failure = unpack_tasks(ids, records)
if failure then return failure end
local values = {}
if ARGV[2] == '0' then
  failure, values = read_fields(VALUES, ids)
  if failure then return failure end
end
local reply = {}
for i, id in ipairs(ids) do
  local task = records[i]
  if task and (ARGV[1] == '' or task[QUEUE] == ARGV[1]) then push_task(reply, id, task, values[i] or false) end
end
return reply
