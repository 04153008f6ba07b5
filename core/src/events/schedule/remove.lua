-- Remove: removes a schedule. Due ticks become events before.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation, ARGV[2] slot, ARGV[3] number: as for publish.lua
-- ARGV[4] id
-- ARGV[5] version     the expected one; 0 for any
-- Returns {1}; {0} if it does not exist, or has another version.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local schedules = use_schedules()
local failure, reply = begin(ARGV[2], ARGV[3])
if failure then return failure end
local slot, step, id, version = ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
if reply then return reply end
local failure, schedule = schedules.read(id)
if failure then return failure end
if not schedule or version > 0 and schedule.version ~= version then return {0} end
local failure, made = schedules.fire(id, schedule, true)
if failure then return failure end
freed = freed + made
gather('HDEL', SCHEDULES, id)
gather('HDEL', TEMPLATES, id)
gather('ZREM', TICKS, id)
remember(slot, step, {1})
local failure = commit()
if failure then return failure end
announce()
return {1}
