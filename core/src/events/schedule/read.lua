-- Read: schedules, by their ids or page by page.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  the partition's, as in the map
-- ARGV[2] cursor      0 for the first page, then as it was returned; empty for the ids that follow
-- ARGV[3…]            ids
-- Returns {now, the cursor of the next page or empty}, followed by, for each that exists, {id, schedule as in SCHEDULE
-- with its ticks, template}. If others change schedules while pages are read, some may be returned twice.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local failure = begin()
if failure then return failure end
local reply, ids, records = {NOW, ''}, every(ARGV, 3, 1)
if ARGV[2] ~= '' then
  local failure, page = read('HSCAN', SCHEDULES, ARGV[2], 'COUNT', SCHEDULES_A_PAGE)
  if failure then return failure end
  ids, records = every(page[2], 1, 2), every(page[2], 2, 2)
  if page[1] ~= '0' then reply[2] = page[1] end
else
  failure, records = read_fields(SCHEDULES, ids)
  if failure then return failure end
end
local failure, templates = read_fields(TEMPLATES, ids)
if failure then return failure end
for i, id in ipairs(ids) do
  if records[i] then
    reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = id, records[i], templates[i]
  end
end
return reply
