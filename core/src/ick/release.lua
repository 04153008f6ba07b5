-- Gives the consumer lease back, if the caller still holds it.
--
-- KEYS[1] lease
-- ARGV[1] token  the caller's
-- returns 1 if the caller held it, 0 if it was lost
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
