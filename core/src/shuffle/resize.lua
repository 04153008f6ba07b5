-- Gives a queue more streams, or fewer as soon as those beyond have nothing left to do.
--
-- KEYS[1] queue  KEYS[2] meta  KEYS[3] notifications
-- ARGV[1] ttl_ms   how long <queue>:meta lives after this at least; 0 for ever
-- ARGV[2] streams  that the queue should have
-- returns how many streams it has now: more than asked for while those beyond have something left; writers
--         leave these alone then, and a later write or resize takes them away
-- errors WRONGTYPE, INVALID_ARGUMENT
local ttl, wanted = ttl_of(ARGV[1]), whole(ARGV[2], STREAMS_MAX)
if not ttl then return invalid('ttl_ms is not 0 or a whole number from a second to 100 years') end
if not wanted or wanted < 1 then return invalid('streams is not a whole number from 1 to ' .. STREAMS_MAX) end

local failure, streams, shape = shape_of_queue()
if failure then return failure end
local is_done = true
if shape and wanted < streams then
  failure, is_done = is_drained(wanted, streams - 1)
  if failure then return failure end
end

local before = redis.call('PTTL', META)
-- A server whose memory is full refuses a new queue, but no other number of one that is there.
if shape then redis.call('HDEL', META, '') end
if is_done then
  streams = wanted
  set_streams(wanted)
else
  redis.call('HSET', META, 'target', wanted .. '/' .. streams)
end
prolong(META, ttl, before)
return streams
