-- How many entries the streams of a queue hold, finished ones included.
--
-- KEYS[1] queue  KEYS[2] meta  KEYS[3] notifications
-- returns the number of entries
-- errors WRONGTYPE
local failure, streams = stream_count()
if failure then return failure end
local sum = 0
for number = 0, streams - 1 do
  local failure, entries = length(stream_key(number))
  if failure then return failure end
  sum = sum + entries
end
return sum
