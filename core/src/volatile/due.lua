-- Reads which hashes of a shard of a family have something to remove, the longest overdue first.
--
-- KEYS[1] due  sorted set: base -> when it has something to remove, or earlier
-- ARGV[1] limit  hashes, 1 to DUE_HASHES_MAX
-- returns {{bases}, microseconds until the next hash has something to remove, nil if there is none}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT
local limit = whole(ARGV[1], DUE_HASHES_MAX)
if not limit or limit < 1 then return invalid('limit is not a whole number from 1 to ' .. DUE_HASHES_MAX) end
local failure, first = read('ZRANGE', KEYS[1], 0, limit, 'WITHSCORES')
if failure then return failure end
local bases = {}
for i = 1, #first, 2 do
  local left = micros(first[i + 1]) - NOW
  if left > 0 then return {bases, left} end
  if #bases == limit then return {bases, 0} end
  bases[#bases + 1] = first[i]
end
return {bases}
