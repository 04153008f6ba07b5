-- Delete: removes a partition with all its contents.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  up to which it is removed: a later one stays
-- ARGV[2] cursor      among the lanes, 0 to begin with them; empty only to remove everything else, after which no other
--                     step finds the partition; a - for the same if a deletion of the partition has begun
-- Returns {cursor to continue with, empty at the end, generation, map}; {empty, 0, empty} if there is no such
-- partition.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local LANES_MAX = 1000

local failure, root = read('HMGET', ROOT, 'version', 'generation', 'map', 'gone')
if failure then return failure end
local version, generation, map, is_gone = root[1], tonumber(root[2]), root[3] or '', root[4]
if version and version ~= LAYOUT then return wrong_layout(ROOT, version, LAYOUT) end
local is_begun, is_begin = ARGV[2] == '-', ARGV[2] == '' or ARGV[2] == '-'

-- The generation stays for ten minutes. The next queue of this name has a later one than any partition of this one,
-- even if it is created in the same second, or after a clock has gone back; and a call with an older map creates no
-- partition, not even one that did not exist before.
local function keep(last)
  redis.call('HSET', ROOT, 'generation', last)
  redis.call('PEXPIRE', ROOT, PERIOD / 1000)
end

local is_any = version and not is_begun or not version and is_gone
if not is_any and not generation and not is_begin then
  redis.call('HDEL', ROOT, '')
  keep(ARGV[1])
end
if not is_any or generation > tonumber(ARGV[1]) then return {'', 0, ''} end
if version then
  redis.call('HDEL', ROOT, 'version')
  redis.call('HSET', ROOT, 'gone', '1')
  redis.call('UNLINK', EVENTS, BODIES, NAMES, FORGET, SCHEDULED, READY, LEASED, RETRY, DEAD, DONE, STATE, SCHEDULES,
    TEMPLATES, TICKS, WAITING, ROOT .. ':ops:0', ROOT .. ':ops:1')
end
if is_begin then return {'0', generation, map} end
local failure, page = read('HSCAN', LANES, ARGV[2], 'COUNT', LANES_MAX)
if failure then return failure end
for i = 1, #page[2], 2 do
  redis.call('UNLINK', LANE .. page[2][i])
end
if page[1] ~= '0' then return {page[1], generation, map} end
redis.call('UNLINK', LANES, ROOT)
local last = generation
for of in string.gmatch(map, '(%d+):') do
  last = math.max(last, tonumber(of))
end
keep(number(last))
return {'', generation, map}
