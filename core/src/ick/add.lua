-- Flags members: each gets the lower of its old and its new score.
--
-- KEYS[1] flag  KEYS[2] pset  KEYS[3] cset
-- ARGV[1] stamp  1 where empty scores mean the server's time, else 0
-- ARGV[2…] score, member, score, member, …
-- returns {members new to the pset, members whose score went down}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT
local failure, flag, before = check()
if failure then return failure end
if #ARGV % 2 == 0 then return redis.error_reply('INVALID_ARGUMENT a score has no member') end

if ARGV[1] == '1' then
  local time = redis.call('TIME')
  local now = time[1] .. '.' .. string.format('%06d', time[2])
  for i = 2, #ARGV, 2 do
    if ARGV[i] == '' then ARGV[i] = now end
  end
end

-- Whether ZADD takes this text: a number that is no NaN and that a double can hold.
local function is_score(text)
  local score = tonumber(text)
  if not score or score ~= score or string.find(text, '%s') then return false end
  if score == math.huge or score == -math.huge then return string.find(text, '^[+-]?[iI]') ~= nil end
  return score ~= 0 or not string.find(string.match(text, '^[^eE]*'), '[1-9]')
end

-- One ZADD checks its own scores before it writes; several need to be checked together.
if #ARGV > CHUNK + 1 then
  for i = 2, #ARGV, 2 do
    if not is_score(ARGV[i]) then
      return redis.error_reply('INVALID_ARGUMENT score ' .. (i / 2 - 1) .. ' is not a number')
    end
  end
end

local changed = 0
for i = 2, #ARGV, CHUNK do
  changed = changed + redis.call('ZADD', PSET, 'LT', 'CH', unpack(ARGV, i, math.min(i + CHUNK - 1, #ARGV)))
end
create(flag)
local new = redis.call('ZCARD', PSET) - before
if before == 0 and new > 0 then
  -- A consumer that waits saw an empty set, so only the first members of a set need to be announced.
  -- A user without rights to the channel still adds; its waiters look every few seconds.
  redis.pcall('PUBLISH', PSET, '')
end
return {new, changed - new}
