-- Put: adds or changes a schedule, or gives it more ticks.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation, ARGV[2] slot, ARGV[3] number: as for publish.lua
-- ARGV[4] id
-- ARGV[5] version     the expected one; 0 if the schedule does not exist
-- ARGV[6] schedule    as in SCHEDULE with its ticks; its version, last event, and missed, passed and fired ticks are
--                     ignored
-- ARGV[7] template    the length (4) and bytes of its rule, which only clients read, and the body of its events; empty
--                     for more ticks. Due ticks become events before it changes.
-- Returns {1}; {0} if it has another version.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local schedules = use_schedules()
local failure, reply = begin(ARGV[2], ARGV[3])
if failure then return failure end
local slot, step, id, template = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[7]
if reply then return reply end
local failure, before = schedules.read(id)
if failure then return failure end
if (before and before.version or 0) ~= tonumber(ARGV[5]) then return {0} end
local schedule = schedules.unpack(ARGV[6])
schedule.version = schedules.next_version(before and before.version or 0)
schedule.fired_from, schedule.fired_upto = 0, 0
if before then
  if template ~= '' then
    local failure, made = schedules.fire(id, before, true)
    if failure then return failure end
    freed = freed + made
  end
  schedule.missed, schedule.passed, schedule.last = before.missed, before.passed, before.last
  schedule.fired_from, schedule.fired_upto = before.fired_from, before.fired_upto
  -- There may be a gap before the next tick.
  local has_come = schedule.ticks[1] and schedule.ticks[1] <= NOW
  if schedule.fired_upto == 0 and (template ~= '' or has_come) then schedule.fired_from = 0 end
  -- A tick that has fired here does not fire again.
  while schedule.ticks[1] and schedule.ticks[1] <= schedule.passed do
    table.remove(schedule.ticks, 1)
  end
end
schedules.put(id, schedule, schedule.ticks[1])
-- A schedule that is paused, resumed or put again does not grow.
local grows = false
if template ~= '' then
  local failure, known = read('HGET', TEMPLATES, id)
  if failure then return failure end
  grows = #template > #(known or '')
  gather('HSET', TEMPLATES, id, template)
end
remember(slot, step, {1})
local failure = commit(grows)
if failure then return failure end
announce(schedule.ticks[1])
return {1}
