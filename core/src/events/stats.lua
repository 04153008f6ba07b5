-- Stats: how many events there are in each state.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  up to which the partition is counted; 0 for any
-- ARGV[2] has         number of the last batch that another partition has of the part that this one gives away, which
--                     is counted there; empty if it has all
-- Returns {events that are not done, scheduled, ready, leased, waiting for their retry, dead, names that are
-- remembered, since when the first one could have been received (-1 for none), now, how many may be leased at a time (0
-- for any number), the rate of the queue (0 for none), how many events the rate lets through now, done, schedules with
-- a tick, number of the last batch that has arrived of a part that moves here (-1 if all of it has)}.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local failure, is_there = look(ARGV[1])
if failure then return failure end
local root = redis.call('HMGET', ROOT, 'generation', 'now', 'config', 'tokens', 'tokens_at', 'leaving', 'out', 'sent',
  'taken')
local is_old = not is_there or tonumber(root[1]) < tonumber(ARGV[1])

-- The batch that both another partition and this one have: ids, names, and schedules.
local doubled = {{}, {}, {}}
if ARGV[2] ~= '' and not (is_there and is_old) then
  local has, out = tonumber(ARGV[2]), root[7] and cmsgpack.unpack(root[7])
  if not root[6] or (out and out[1] - 1 or tonumber(root[8])) > has then
    return redis.error_reply('STALE the other partition has more')
  end
  if out and out[1] <= has then doubled = {out[2], out[3], out[4]} end
end
local ids, names_doubled = doubled[1], #doubled[2]

-- How many of these members a sorted set has; or an error as the first value.
local function count_of(key, members)
  local count = 0
  if #members == 0 then return nil, count end
  local failure, scores = read('ZMSCORE', key, unpack(members))
  if failure then return failure end
  for i = 1, #members do
    if scores[i] then count = count + 1 end
  end
  return nil, count
end

local counts = {}
for i, key in ipairs({SCHEDULED, READY, LEASED, RETRY, DEAD}) do
  local failure, size = read('ZCARD', key)
  if failure then return failure end
  local failure, count = count_of(key, ids)
  if failure then return failure end
  counts[i + 1] = size - count
end
local failure, names = read('HLEN', NAMES)
if failure then return failure end
local failure, schedules = read('ZCARD', TICKS)
if failure then return failure end
local failure, left, done = events_left()
if failure then return failure end
local failure, ticks = count_of(TICKS, doubled[3])
if failure then return failure end
local failure, ended = count_of(DONE, ids)
if failure then return failure end
local failure, heads = read_fields(EVENTS, ids)
if failure then return failure end
for i, id in ipairs(ids) do
  if heads[i] then left = left - 1 end
  if heads[i] and flag(string.byte(heads[i], 2), NAMED) then
    local failure, owner = read('HGET', NAMES, name_of(heads[i]))
    if failure then return failure end
    if owner == id then names_doubled = names_doubled + 1 end
  end
end
left, done, schedules, names = left + ended, done - ended, schedules - ticks, names - names_doubled
local time = redis.call('TIME')
local now = tonumber(root[2]) or time[1] * 1000000 + time[2]
-- Their time may have come after the last receive.
local since = math.huge
for _, key in ipairs({READY, SCHEDULED, LEASED, RETRY}) do
  local failure, first = first_of(key)
  if failure then return failure end
  if first and first <= now then since = math.min(since, first) end
end
counts[8], counts[9], counts[10], counts[11], counts[12] = since < math.huge and since or -1, now, 0, 0, 0
counts[1], counts[7], counts[13], counts[14] = left, names, done, schedules
counts[15] = is_old and 0 or tonumber(root[9] or -1)
if root[3] then
  configure(root[3], root[4], root[5])
  counts[10], counts[11], counts[12] = CONCURRENCY, FLOW, FLOW > 0 and rate_left(now) or 0
end
return counts
