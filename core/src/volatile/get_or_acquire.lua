-- Reads a field; takes its lock if the field is not live.
--
-- KEYS[1] map  KEYS[2] zset  KEYS[3] lock  KEYS[4] lockz  KEYS[5] meta  KEYS[6] due, if in a family
-- ARGV[1] field
-- ARGV[2] token
-- ARGV[3] ttl_us  microseconds until the lock expires, from TTL_US_MIN
-- returns {2, value}, or what acquire returns
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
local field, token, ttl = ARGV[1], ARGV[2], ttl_of(ARGV[3])
local failure = check_term(field, token, ttl)
if failure then return failure end
local failure, values = read_values({field})
if failure then return failure end
if values[1] then return {2, values[1]} end
local failure, reply = take_lock(field, token, ttl)
return failure or reply
