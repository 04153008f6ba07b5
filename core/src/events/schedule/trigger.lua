-- Trigger: publishes an event of a schedule now; its ticks stay as they are.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation, ARGV[2] slot, ARGV[3] number: as for publish.lua
-- ARGV[4] id
-- Returns {id of the event, now}; {} if there is no such schedule.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local schedules = use_schedules()
local failure, reply = begin(ARGV[2], ARGV[3])
if failure then return failure end
local slot, step, id = ARGV[2], tonumber(ARGV[3]), ARGV[4]
if reply then return reply end
local failure, schedule = schedules.read(id)
if failure then return failure end
if not schedule then return {} end
local failure, event = schedules.occur(id, schedule, NOW)
if failure then return failure end
freed = 1
local reply = {event, NOW}
remember(slot, step, reply)
local failure = commit(true)
if failure then return failure end
announce()
return reply
