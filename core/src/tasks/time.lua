-- Reads the clock that decides when tasks are available and leases are over.
--
-- KEYS[1] store  not looked at; it says which server's clock
-- returns milliseconds since the Unix epoch
local time = redis.call('TIME')
return time[1] * 1000 + math.floor(time[2] / 1000)
