-- Moves the lowest members from the producer set to the consumer set and returns the batch.
--
-- KEYS[1] flag  KEYS[2] pset  KEYS[3] cset  KEYS[4] lease, if fenced
-- ARGV[1] token     of the consumer lease; empty if not fenced
-- ARGV[2] max       members the consumer set may hold, below 1e17
-- ARGV[3] backwash  1 to fold the consumer set back first, else 0
-- returns {member, score, member, score, …}, lowest first, at most max members
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, LEASE_LOST
local failure, flag, pset_size, cset_size = check()
failure = failure or fence()
if failure then return failure end
local max = size(ARGV[2])
if not max then return redis.error_reply('INVALID_ARGUMENT max is not a whole number from 0 to below 1e17') end

local batch = take(max, ARGV[3] == '1', pset_size, cset_size)
create(flag)
return batch
