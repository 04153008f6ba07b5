-- Notes that the work on a suspect begins (see claim.lua): from now on its claim counts as one that did not end.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry  KEYS[7] none
-- ARGV[1] claimant
-- ARGV[2] id
-- ARGV[3] unended   how often it has been claimed without an end, this claim included
-- returns 1 if the claimant has the task, else 0
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT, AGAIN
local CALLER, id, unended = ARGV[1], ARGV[2], whole(ARGV[3], 2 ^ 32 - 1)
if not is_name(CALLER) then return invalid('there is no claimant') end
if not is_name(id) then return invalid('the task has no id') end
if not unended then return invalid('unended is not a whole number below 2^32') end
local failure = begin()
if failure then return failure end
local failure, records = read_fields(STORE, {id})
if failure then return failure end
failure = unpack_tasks({id}, records)
if failure then return failure end
local task = records[1]
-- A task whose claims have ended has no claimant that it is counted for.
if not task or task[CLAIMANT] ~= CALLER or (task[UNENDED] or 0) == 0 then return 0 end
if task[UNENDED] < unended then
  task[UNENDED] = unended
  gather('HSET', STORE, id, pack(task))
end
return commit() or 1
