-- Reads how long a field remains live.
--
-- KEYS[1] map  KEYS[2] zset  KEYS[3] due, if in a family
-- ARGV[1] field
-- returns microseconds, nil if it is not live
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT
if not is_field(ARGV[1]) then return invalid('the field has more than ' .. FIELD_BYTES_MAX .. ' bytes') end
local failure, expiries = read_expiries({ARGV[1]})
if failure then return failure end
return expiries[1] and expiries[1] - NOW
