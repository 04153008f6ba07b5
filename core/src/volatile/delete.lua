-- Removes fields, live or not.
--
-- KEYS[1] map  KEYS[2] zset  KEYS[3] due, if in a family
-- ARGV[1…] fields
-- returns how many were live
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT
if #ARGV < 1 or #ARGV > FIELDS_MAX then return invalid('there are not 1 to ' .. FIELDS_MAX .. ' fields') end
local failure, expiries = read_expiries(ARGV)
if failure then return failure end
local live, is_removed = 0, {}
for i, field in ipairs(ARGV) do
  if expiries[i] and not is_removed[field] then live = live + 1 end
  is_removed[field] = true
  remove_field(field)
end
return write_all() or live
