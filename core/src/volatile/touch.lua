-- Changes the expiry of a field, if it is live.
--
-- KEYS[1] map  KEYS[2] zset  KEYS[3] due, if in a family
-- ARGV[1] field
-- ARGV[2] ttl_us  microseconds until it expires, from TTL_US_MIN
-- returns 1 if it was live, else 0
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT
local field, ttl = ARGV[1], ttl_of(ARGV[2])
if not is_field(field) then return invalid('the field has more than ' .. FIELD_BYTES_MAX .. ' bytes') end
if not ttl then return invalid('ttl_us is not a whole number from ' .. TTL_US_MIN .. ' to 100 years') end
local failure, expiries = read_expiries({field})
if failure then return failure end
if not expiries[1] then return 0 end
-- A server whose memory is full lets a script add data after a command that removes data.
gather('ZREM', ZSET, field)
gather('ZADD', ZSET, score_of(NOW + ttl), field)
lower_due(NOW + ttl)
return write_all() or 1
