-- Removes members that are done from the consumer set.
--
-- KEYS[1] flag  KEYS[2] pset  KEYS[3] cset  KEYS[4] lease, if fenced
-- ARGV[1] token  of the consumer lease; empty if not fenced
-- ARGV[2…] members
-- returns how many of them were there
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, LEASE_LOST
local failure, flag = check()
failure = failure or fence()
if failure then return failure end

local removed = 0
for i = 2, #ARGV, CHUNK do
  removed = removed + redis.call('ZREM', CSET, unpack(ARGV, i, math.min(i + CHUNK - 1, #ARGV)))
end
create(flag)
return removed
