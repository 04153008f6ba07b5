-- Takes the consumer lease if it is free, or again if it is the caller's.
--
-- KEYS[1] lease
-- ARGV[1] token   the caller's
-- ARGV[2] ttl_ms  milliseconds until it runs out
-- returns 1 if the caller holds it now, 0 if another client does
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
if holder then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
else
  -- A server without memory refuses SET, unless its script has written before, and who has the lease makes room.
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return 1
