-- Takes the lock of a field if it is free, or again if the token holds it.
--
-- KEYS[1] map  KEYS[2] zset  KEYS[3] lock  KEYS[4] lockz  KEYS[5] meta  KEYS[6] due, if in a family
-- ARGV[1] field
-- ARGV[2] token
-- ARGV[3] ttl_us  microseconds until the lock expires, from TTL_US_MIN
-- returns {1, fence}, or {0, microseconds until the lock of another token expires}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
local field, token, ttl = ARGV[1], ARGV[2], ttl_of(ARGV[3])
local failure = check_term(field, token, ttl)
if failure then return failure end
local failure, reply = take_lock(field, token, ttl)
return failure or reply
