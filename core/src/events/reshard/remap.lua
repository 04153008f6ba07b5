-- Remap: changes the map of a queue, in its partition 0, unless another client has changed it.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  ignored
-- ARGV[2] known       the map that the change was made for
-- ARGV[3] map         the new one
-- Returns 1 if the new map is in place, 0 if another one is.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local failure, is_there = look()
if failure then return failure end
if not is_there then return redis.error_reply('STALE the queue is not there') end
local map = redis.call('HGET', ROOT, 'map')
if map == ARGV[3] then return 1 end
if map ~= ARGV[2] then return 0 end
redis.call('HDEL', ROOT, '')
redis.call('HSET', ROOT, 'map', ARGV[3])
return 1
