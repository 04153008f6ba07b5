-- Reads dead letters, the oldest first; removes nothing.
--
-- KEYS[1] queue  KEYS[2] meta  KEYS[3] notifications  KEYS[4] dead
-- ARGV[1] max    letters, from 1
-- ARGV[2] after  the id of a letter, of which these come after; empty for the oldest
-- returns {{id, {field, value, …}}, …}
-- errors WRONGTYPE, INVALID_ARGUMENT
local max = whole(ARGV[1], 1e6)
if not max or max < 1 then return invalid('max is not a whole number from 1 to a million') end
if ARGV[2] ~= '' and not is_id(ARGV[2] or '') then return invalid('after is not an id of a message') end
local failure = length(KEYS[4])
if failure then return failure end
return redis.call('XRANGE', KEYS[4], ARGV[2] == '' and '-' or '(' .. ARGV[2], '+', 'COUNT', max)
