-- Counts the fields and locks of a hash.
--
-- KEYS[1] map  KEYS[2] zset  KEYS[3] lock  KEYS[4] lockz  KEYS[5] meta  KEYS[6] due, if in a family
-- returns {fields that are live, other fields, locks that are held}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
local failure, live, others = count_fields()
if failure then return failure end
failure = check_locks()
if failure then return failure end
return {live, others, redis.call('ZCOUNT', LOCKZ, '(' .. NOW_SCORE, '+inf')}
