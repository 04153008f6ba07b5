-- Stats: how many events there are of each state.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  not looked at: what is there is counted
-- Returns {events that are not done, scheduled, ready, leased, to be tried again, dead, names that are remembered, since
-- when the first one could have been received (-1 for none), now, how many may be leased at a time (0 for any number), the rate of the
-- queue (0 for none), how many events that lets through now, done, schedules that tick}.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local failure = look()
if failure then return failure end
local counts = {}
for i, key in ipairs({SCHEDULED, READY, LEASED, RETRY, DEAD}) do
  local failure, size = read('ZCARD', key)
  if failure then return failure end
  counts[i + 1] = size
end
local failure, names = read('HLEN', NAMES)
if failure then return failure end
local failure, schedules = read('ZCARD', TICKS)
if failure then return failure end
counts[7] = names
local failure, left, done = events_left()
if failure then return failure end
local time, root = redis.call('TIME'), redis.call('HMGET', ROOT, 'now', 'config', 'tokens', 'tokens_at')
local now = tonumber(root[1]) or time[1] * 1000000 + time[2]
-- Nobody may have received since their time has come.
local since = math.huge
for _, key in ipairs({READY, SCHEDULED, LEASED, RETRY}) do
  local failure, first = first_of(key)
  if failure then return failure end
  if first and first <= now then since = math.min(since, first) end
end
counts[8], counts[9], counts[10], counts[11], counts[12] = since < math.huge and since or -1, now, 0, 0, 0
counts[1], counts[13], counts[14] = left, done, schedules
if root[2] then
  configure(root[2], root[3], root[4])
  counts[10], counts[11], counts[12] = CONCURRENCY, FLOW, FLOW > 0 and rate_left(now) or 0
end
return counts
