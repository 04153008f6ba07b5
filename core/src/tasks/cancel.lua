-- Notes that tasks are cancelled which somebody has claimed and still holds: a renewal says so, the next claim and each
-- change take it away. Or removes these tasks.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry  KEYS[7] none
-- ARGV[1]  1 to remove them, else 0
-- ARGV[2…] ids
-- returns {for each id: 1 if it is cancelled or removed now, 0 if nobody has it}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT, AGAIN
local force, ids = ARGV[1], {unpack(ARGV, 2)}
if force ~= '0' and force ~= '1' then return invalid('force is neither 0 nor 1') end
for _, id in ipairs(ids) do
  if not is_name(id) then return invalid('a task has no id') end
end
local failure = begin()
if failure then return failure end
local failure, records = read_fields(STORE, ids)
if failure then return failure end
failure = unpack_tasks(ids, records)
if failure then return failure end
local reply, removed = {}, {}
for i, id in ipairs(ids) do
  local task = records[i]
  local is_claimed = task and not removed[id] and task[AT] > NOW and (task[UNENDED] or 0) > 0
  if is_claimed and force == '1' then
    failure = remove(id, task)
    if failure then return failure end
    removed[id] = true
  elseif is_claimed and task[CANCELLED] ~= 1 then
    task[CANCELLED] = 1
    gather('HSET', STORE, id, pack(task))
  end
  reply[i] = is_claimed and 1 or 0
end
return commit() or reply
