-- Reschedule: sets another time for events that wait for their time or their retry.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  the partition's, as in the map
-- ARGV[2] at          as in publish.lua
-- ARGV[3…]            ids
-- Returns {for each: 0 if it does not exist, 1 if it fires or is retried at the new time, 2 if it is already ready,
-- leased or dead, or behind another one of its key}.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local failure = begin()
if failure then return failure end
local fire_at = time_of(ARGV[2])
local failure, first = first_of(SCHEDULED)
if failure then return failure end
local failure, first_retry = first_of(RETRY)
if failure then return failure end
local next_at = math.min(first or math.huge, first_retry or math.huge)
local ids, results, is_sooner = every(ARGV, 3, 1), {}, false
local failure, heads = read_fields(EVENTS, ids)
failure = failure or hide_done(ids, heads)
if failure then return failure end
for i, id in ipairs(ids) do
  local head = heads[i]
  local failure, before = read('ZSCORE', SCHEDULED, id)
  if failure then return failure end
  local failure, tried_at = read('ZSCORE', RETRY, id)
  if failure then return failure end
  results[i] = not head and 0 or (before or tried_at) and 1 or 2
  if tried_at and fire_at > NOW then
    gather('ZADD', RETRY, number(fire_at), id)
    is_sooner = is_sooner or fire_at < next_at
  elseif tried_at then
    gather('ZREM', RETRY, id)
    make_ready(id, NOW)
  elseif before then
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
-- The consumer that is notified makes due events ready.
if is_sooner and fire_at <= NOW then freed = math.max(freed, 1) end
announce(is_sooner and fire_at)
return results
