-- Removes all fields, but not the locks.
--
-- KEYS[1] map  KEYS[2] zset  KEYS[3] due, if in a family
-- returns how many were live
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT
local failure, live = count_fields()
if failure then return failure end
redis.call('UNLINK', MAP, ZSET)
return live
