-- Reads who holds the lock of a field.
--
-- KEYS[1] map  KEYS[2] zset  KEYS[3] lock  KEYS[4] lockz  KEYS[5] meta  KEYS[6] due, if in a family
-- ARGV[1] field
-- returns {token, fence, microseconds until the lock expires}, {} if it is free
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
if not is_field(ARGV[1]) then return invalid('the field has more than ' .. FIELD_BYTES_MAX .. ' bytes') end
local failure, lock = read_lock(ARGV[1])
if failure then return failure end
return lock and {lock.token, lock.fence, lock.expiry - NOW} or {}
