-- Reads the values of fields that are live.
--
-- KEYS[1] map  KEYS[2] zset  KEYS[3] due, if in a family
-- ARGV[1…] fields
-- returns {for each field: its value, nil if it is not live}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT
if #ARGV < 1 or #ARGV > FIELDS_MAX then return invalid('there are not 1 to ' .. FIELDS_MAX .. ' fields') end
local failure, values = read_values(ARGV)
return failure or values
