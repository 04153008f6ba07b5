-- Releases the lock of a field, if the token holds it.
--
-- KEYS[1] map  KEYS[2] zset  KEYS[3] lock  KEYS[4] lockz  KEYS[5] meta  KEYS[6] due, if in a family
-- ARGV[1] field
-- ARGV[2] token
-- returns 1 if the token held it, else 0
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
local field, token = ARGV[1], ARGV[2]
local failure = check_term(field, token, true)
if failure then return failure end
local failure, lock = read_lock(field)
if failure then return failure end
if not lock or lock.token ~= token then return 0 end
remove_lock(field)
failure = write_all()
if failure then return failure end
forget_fence()
return 1
