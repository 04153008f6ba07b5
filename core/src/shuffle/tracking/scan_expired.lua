-- Finds some of the tracked messages whose deadline has passed: first those that were cordoned, then
-- the others.
--
-- KEYS[1] tracking  KEYS[2] deadlines  KEYS[3] garbage
-- ARGV[1] cursor  what the call before this returned; empty for the first
-- ARGV[2] digits  how many of the first digits of the time a deadline has to have; 0 for none
-- ARGV[3] count   about how many to look at
-- returns {cursor, looked at, value, deadline, 1 if the record is that of this deadline or else 0, …}; the cursor after the last is empty
-- errors WRONGTYPE, INVALID_ARGUMENT
local phase, cursor = string.match(ARGV[1] or 'x', '^([ge]?)(%d*)$')
if not phase then return invalid('the cursor is none of this script') end
if not string.find(ARGV[2] or '', '^%d%d?$') then return invalid('digits is not a number from 0 to 10') end
if not string.find(ARGV[3] or '', '^[1-9]%d?%d?%d?%d?$') then return invalid('count is not a number from 1 to 99,999') end
local failure = wrong_types()
if failure then return failure end
if phase == '' then phase, cursor = 'g', '0' end
local time = redis.call('TIME')[1]
local now = tonumber(time)

local page, reply, looked_at = nil, {'', 0}, 0
local function add(value, text)
  local deadline = tonumber(text)
  if not deadline then return end
  looked_at = looked_at + 1
  if phase == 'e' and deadline > now then return end
  local record = record_of(value)
  local last = #reply
  reply[last + 1], reply[last + 2] = value, text
  reply[last + 3] = (record and record.deadline == deadline) and 1 or 0
end

if phase == 'g' then
  page = redis.call('SSCAN', GARBAGE, cursor, 'COUNT', ARGV[3])
  for _, member in ipairs(page[2]) do
    local value, text = string.match(member, '^(.*):([^:]*)$')
    if value then add(value, text) end
  end
else
  local prefix = string.sub(time, 1, tonumber(ARGV[2]))
  page = redis.call('HSCAN', TRACKING, cursor, 'MATCH', '*:expiry:' .. prefix .. '*', 'COUNT', ARGV[3])
  for i = 1, #page[2], 2 do
    -- A value may look like this too, but its record is no 1.
    local value, text = string.match(page[2][i], '^(.*):expiry:([^:]*)$')
    if value and page[2][i + 1] == '1' and string.sub(text, 1, #prefix) == prefix then add(value, text) end
  end
end
if page[1] ~= '0' then
  reply[1] = phase .. page[1]
elseif phase == 'g' then
  reply[1] = 'e0'
end
reply[2] = looked_at
return reply
