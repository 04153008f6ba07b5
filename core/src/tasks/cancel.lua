-- Notes that tasks are cancelled which somebody has claimed and still holds: a renewal says so, the next claim and each
-- change take it away.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry  KEYS[7] none
-- ARGV[1…] ids
-- returns {for each id: 1 if it is cancelled now, 0 if nobody has it}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT, AGAIN
for _, id in ipairs(ARGV) do
  if not is_name(id) then return invalid('a task has no id') end
end
local failure = begin()
if failure then return failure end
local failure, records = read_fields(STORE, ARGV)
if failure then return failure end
failure = unpack_tasks(ARGV, records)
if failure then return failure end
local reply = {}
for i, id in ipairs(ARGV) do
  local task = records[i]
  local is_claimed = task and task[AT] > NOW and (task[UNENDED] or 0) > 0
  if is_claimed and task[CANCELLED] ~= 1 then
    task[CANCELLED] = 1
    gather('HSET', STORE, id, pack(task))
  end
  reply[i] = is_claimed and 1 or 0
end
return commit() or reply
