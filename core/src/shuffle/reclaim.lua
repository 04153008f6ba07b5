-- Takes over messages whose consumers went silent, from the streams in turn. One that was delivered
-- often enough goes to the stream of dead letters.
--
-- A program that ends in the middle of a message takes all that it held with it. So where that has happened again, or
-- the next time would be the last, each of these is a suspect and comes alone: the next end says which one it was, and the
-- others do not become dead letters for it. What was given back is no suspect.
--
-- KEYS[1] queue  KEYS[2] meta  KEYS[3] notifications  KEYS[4] dead
-- ARGV[1] group
-- ARGV[2] consumer        the one that takes over
-- ARGV[3] min_idle_ms     how long a message's consumer has been silent at least
-- ARGV[4] max             messages, from 1
-- ARGV[5] max_deliveries  deliveries after which a message is dead; 0 for never
-- ARGV[6] dead_ttl_ms     how long a dead letter lives; 0 for ever
-- ARGV[7] default         1 to look at the stream at <queue> as well, whose group is <queue>, else 0
-- ARGV[8] reason          of a dead letter
-- ARGV[9] begins          1 if the consumer says when the work on a suspect begins (renew.lua), before which its
--                         delivery is not counted; 0 if it begins now
-- returns {dead, 1 if the message is a suspect and else 0, stream, deliveries, {id, {field, value, …}}, stream,
--   deliveries, {…}, …}; the default stream is -1
-- errors WRONGTYPE, INVALID_ARGUMENT
local CONSUMER, REASON = ARGV[2], ARGV[8]
local min_idle, max = whole(ARGV[3], 1e14), whole(ARGV[4], 1e6)
local max_deliveries, dead_ttl = whole(ARGV[5], 1e14), ttl_of(ARGV[6])
if not ARGV[1] or not CONSUMER then return invalid('there is no group or no consumer') end
if not min_idle then return invalid('min_idle_ms is not a whole number') end
if not max or max < 1 then return invalid('max is not a whole number from 1 to a million') end
if not max_deliveries then return invalid('max_deliveries is not a whole number') end
if not dead_ttl then return invalid('dead_ttl_ms is not 0 or a whole number from a second to 100 years') end
if not REASON then return invalid('there is no reason') end
if ARGV[9] ~= '0' and ARGV[9] ~= '1' then return invalid('begins is neither 0 nor 1') end

local failure, streams = stream_count()
if failure then return failure end
failure = length(DEAD)
if failure then return failure end

local places = {}
local function add_place(key, group, number)
  places[#places + 1] = {key = key, group = group, number = number, idle = {}, from = '-'}
  return length(key)
end
for number = 0, streams - 1 do
  failure = add_place(stream_key(number), ARGV[1], number)
  if failure then return failure end
end
if ARGV[7] == '1' then
  failure = add_place(QUEUE, QUEUE, -1)
  if failure then return failure end
end

local function is_dead(deliveries)
  return max_deliveries > 0 and deliveries >= max_deliveries
end

local function is_suspect(consumer, deliveries)
  return consumer ~= RELEASED and not is_dead(deliveries) and (deliveries > 1 or is_dead(deliveries + 1))
end

-- Finds up to `count` more that are idle in a stream, by id; returns how many there are.
local function look(place, count)
  local idle = place.idle
  local more = redis.pcall('XPENDING', place.key, place.group, 'IDLE', min_idle, place.from, '+', count)
  -- A group that has not joined has nothing.
  if more.err then return 0 end
  for _, pending in ipairs(more) do
    idle[#idle + 1], place.from = pending, '(' .. pending[1]
  end
  return #more
end

-- As many of each as its turns can need, and not `max` of each: streams that have more make up for
-- those that have less.
local live, left = places, max
while left > 0 and #live > 0 do
  local quota, still = math.ceil(left / #live), {}
  for _, place in ipairs(live) do
    local found = look(place, quota)
    left = left - found
    if found >= quota then still[#still + 1] = place end
  end
  live = still
end

-- One of each in turn.
local order, turn = {}, 1
repeat
  local any = false
  for _, place in ipairs(places) do
    local pending = place.idle[turn]
    if pending and #order < max then
      order[#order + 1] = {place, pending}
      any = true
    end
  end
  turn = turn + 1
until not any

local reply, dead, suspect = {0, 0}, 0, nil
local function take(place, id, deliveries, entry)
  local counted = suspect and ARGV[9] == '1' and deliveries or deliveries + 1
  redis.call('XCLAIM', place.key, place.group, CONSUMER, 0, id, 'RETRYCOUNT', counted, 'JUSTID')
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = place.number, deliveries + 1, entry
end
local others = {}
for _, item in ipairs(order) do
  local place, pending = item[1], item[2]
  local id, consumer, deliveries = pending[1], pending[2], pending[4]
  local entry = redis.call('XRANGE', place.key, id, id)[1]
  if not entry then
    -- Another client deleted the message; nobody can work on it any more.
    redis.call('XACK', place.key, place.group, id)
  elseif is_dead(deliveries) then
    bury(place, id, consumer, deliveries, REASON, entry[2])
    dead = dead + 1
  elseif is_suspect(consumer, deliveries) then
    suspect = suspect or {place, id, deliveries, entry}
  else
    others[#others + 1] = {place, id, deliveries, entry}
  end
end
if suspect then
  others, reply[2] = {suspect}, 1
end
for _, item in ipairs(others) do
  take(unpack(item))
end
keep_dead(dead, dead_ttl)
reply[1] = dead
return reply
