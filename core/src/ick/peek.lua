-- Reads the lowest members of one set and moves nothing.
--
-- KEYS[1] flag  KEYS[2] pset  KEYS[3] cset
-- ARGV[1] set  producer or consumer
-- ARGV[2] max  members, below 1e17
-- returns {member, score, member, score, …}, lowest first
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT
local failure, flag, pset_size, cset_size = check()
if failure then return failure end
local max = size(ARGV[2])
if not max then return redis.error_reply('INVALID_ARGUMENT max is not a whole number from 0 to below 1e17') end
if max == 0 then return {} end

if ARGV[1] == 'producer' then return redis.call('ZRANGE', PSET, 0, math.min(max, pset_size) - 1, 'WITHSCORES') end
if ARGV[1] == 'consumer' then return redis.call('ZRANGE', CSET, 0, math.min(max, cset_size) - 1, 'WITHSCORES') end
return redis.error_reply('INVALID_ARGUMENT set is neither producer nor consumer')
