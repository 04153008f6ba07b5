-- Redrive: turns dead letters into events again, by their ids.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation, ARGV[2] slot, ARGV[3] number: as for publish.lua
-- ARGV[4…] ids
-- Returns {for each: 0 if it does not exist, 1 if it was redriven, 2 if it is not a dead letter}.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local failure, results = begin(ARGV[2], ARGV[3])
if failure then return failure end
local slot, step = ARGV[2], tonumber(ARGV[3])
if results then return results end

local ids = every(ARGV, 4, 1)
results = {}
local failure, heads, states = records_of(ids)
failure = failure or hide_done(ids, heads)
if failure then return failure end
for i, id in ipairs(ids) do
  local head = heads[i]
  local failure, died_at = read('ZSCORE', DEAD, id)
  if failure then return failure end
  results[i] = not head and 0 or died_at and 1 or 2
  failure = results[i] == 1 and redrive(id, head, states[i])
  if failure then return failure end
end
remember(slot, step, results)
local failure = commit()
if failure then return failure end
announce()
return results
