-- Makes the consumer lease run for a full term again, if the caller still holds it.
--
-- KEYS[1] lease
-- ARGV[1] token   the caller's
-- ARGV[2] ttl_ms  milliseconds until it runs out
-- returns 1 if the caller holds it, 0 if it was lost
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
