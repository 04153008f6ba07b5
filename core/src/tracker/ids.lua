-- Reads the ids whose stamps come after one, in the order of their stamps. Ids with the same stamp are not split.
--
-- KEYS[1] tracker  KEYS[2] ids
-- ARGV[1] after  a stamp, 0 for the beginning
-- ARGV[2] limit  ids, 1 to IDS_MAX; more, if the last ones have the same stamp
-- returns {for each: id, stamp}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
local after, limit = whole(ARGV[1], INTEGER_MAX), whole(ARGV[2], IDS_MAX)
if not after then return invalid('after is not a whole number') end
if not limit or limit < 1 then return invalid('limit is not a whole number from 1 to ' .. IDS_MAX) end
local failure, page = read('ZRANGEBYSCORE', IDS, '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
if failure then return failure end
if #page == 2 * limit then
  local last, same = page[#page], 0
  for i = #page, 2, -2 do
    if page[i] ~= last then break end
    same = same + 1
  end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', IDS, last, last, 'LIMIT', same, IDS_MAX)) do
    page[#page + 1], page[#page + 2] = id, last
  end
end
for i = 2, #page, 2 do
  page[i] = tonumber(page[i])
end
return page
