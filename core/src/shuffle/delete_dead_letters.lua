-- Deletes dead letters.
--
-- KEYS[1] queue  KEYS[2] meta  KEYS[3] notifications  KEYS[4] dead
-- ARGV[1…] ids of dead letters
-- returns how many there were
-- errors WRONGTYPE, INVALID_ARGUMENT
for i = 1, #ARGV do
  if not is_id(ARGV[i]) then return invalid('an id is not one of a message') end
end
local failure = length(KEYS[4])
if failure then return failure end
local deleted = 0
for i = 1, #ARGV, CHUNK do
  deleted = deleted + redis.call('XDEL', KEYS[4], unpack(ARGV, i, math.min(i + CHUNK - 1, #ARGV)))
end
return deleted
