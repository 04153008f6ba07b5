-- Hand on: a process was notified of events, but no consumer in it waits any more, so the next process is notified.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  the partition's, as the map says
-- ARGV[2] process     as in receive.lua
-- Returns 1.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local failure = begin()
if failure then return failure end
redis.pcall('ZREM', WAITING, ARGV[2])
local failure, ready = read('ZCARD', READY)
if failure then return failure end
local failure, room = leases_left()
if failure then return failure end
local failure, alarm = next_alarm({}, ready, room > 0)
if failure then return failure end
freed = math.min(ready, TOLD_MAX)
announce(alarm)
return 1
