-- How many messages of a queue some group still has to get or to acknowledge.
--
-- KEYS[1] queue  KEYS[2] meta  KEYS[3] notifications
-- returns the number of messages
-- errors WRONGTYPE
local failure, streams = stream_count()
if failure then return failure end
local sum = 0
for number = 0, streams - 1 do
  local failure, waiting = backlog(stream_key(number))
  if failure then return failure end
  sum = sum + waiting
end
return sum
