-- Reschedule: another time for events that were not delivered yet.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  the partition's, as the map says
-- ARGV[2] at          as in publish.lua
-- ARGV[3…]            ids
-- Returns of each {0 if it is not there, 1 if it fires then, 2 if it is ready, leased, to be tried again or dead
-- already}.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local failure = begin()
if failure then return failure end
local fire_at = time_of(ARGV[2])
local failure, next_at = first_of(SCHEDULED)
if failure then return failure end
local ids, results, is_sooner = every(ARGV, 3, 1), {}, false
local failure, heads = read_fields(EVENTS, ids)
failure = failure or hide_done(ids, heads)
if failure then return failure end
for i, id in ipairs(ids) do
  local head = heads[i]
  local failure, before = read('ZSCORE', SCHEDULED, id)
  if failure then return failure end
  results[i] = not head and 0 or before and 1 or 2
  if before then
    local format, flags, old, published, expires, named = struct.unpack(HEAD, head)
    if expires > 0 then expires = expires - old + fire_at end
    gather('HSET', EVENTS, id, struct.pack(HEAD, format, flags, fire_at, published, expires, named) ..
      string.sub(head, HEAD_BYTES + 1))
    gather('ZADD', SCHEDULED, number(fire_at), id)
    is_sooner = is_sooner or fire_at < next_at
  end
end
local failure = commit()
if failure then return failure end
-- What is due is promoted by whoever hears of it.
if is_sooner and fire_at <= NOW then freed = 1 end
announce(is_sooner and fire_at)
return results
