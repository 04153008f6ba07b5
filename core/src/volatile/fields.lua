-- Reads a page of the live fields, in the order of expiry.
--
-- KEYS[1] map  KEYS[2] zset  KEYS[3] due, if in a family
-- ARGV[1] limit        fields, 1 to PAGE_MAX
-- ARGV[2] after_us     the expiry of the field that the page comes after, in microseconds since the Unix epoch; empty
--                      for the first page
-- ARGV[3] after_field  that field
-- ARGV[4] omit_values  1 to leave out the values, else 0
-- returns {{for each: field, expiry in microseconds, and value unless values are omitted}}, followed by the expiry and
--   the field of the last one examined if there are more; a page may have fewer fields than the limit
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT
local limit, after_us, after_field = whole(ARGV[1], PAGE_MAX), whole(ARGV[2], INTEGER_MAX), ARGV[3]
if not limit or limit < 1 then return invalid('limit is not a whole number from 1 to ' .. PAGE_MAX) end
if not after_us and ARGV[2] ~= '' then return invalid('after_us is not a whole number') end
if not is_field(after_field) then return invalid('after_field has more than ' .. FIELD_BYTES_MAX .. ' bytes') end
if ARGV[4] ~= '0' and ARGV[4] ~= '1' then return invalid('omit_values is neither 0 nor 1') end

local failure = check_fields()
if failure then return failure end

-- The rank of the first field after the position, whose own field may no longer exist. Scores are compared in
-- microseconds, the unit of positions.
local function rank_behind()
  local score = redis.call('ZSCORE', ZSET, after_field)
  if score and micros(score) == after_us then return redis.call('ZRANK', ZSET, after_field) + 1 end
  local at = score_of(after_us)
  -- A binary search among the fields with that expiry, which are in the order of their bytes.
  local low = redis.call('ZCOUNT', ZSET, '-inf', '(' .. at)
  local high = low + redis.call('ZCOUNT', ZSET, at, at)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if precedes(after_field, redis.call('ZRANGE', ZSET, middle, middle)[1]) then high = middle else low = middle + 1 end
  end
  return low
end

local rank = redis.call('ZCOUNT', ZSET, '-inf', NOW_SCORE)
if after_us then rank = math.max(rank, rank_behind()) end
-- One more than the page has, to see whether there are more.
local run = redis.call('ZRANGE', ZSET, rank, rank + limit, 'WITHSCORES')
local count = math.min(#run / 2, limit)
local names, page = {}, {}
for i = 1, count do
  names[i] = run[2 * i - 1]
end
local values
if ARGV[4] == '0' then
  failure, values = read_fields(MAP, names)
  if failure then return failure end
end
for i, name in ipairs(names) do
  local is_live = values and values[i] or not values and redis.call('HEXISTS', MAP, name) == 1
  if is_live then
    page[#page + 1] = name
    page[#page + 1] = micros(run[2 * i])
    if values then page[#page + 1] = values[i] end
  end
end
if #run / 2 > limit then return {page, micros(run[2 * count]), names[count]} end
return {page}
