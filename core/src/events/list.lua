-- List: a page of the events of one state, by the time of the state and by id; those behind a key in the order of its
-- lane.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  up to which the partition is listed; 0 for any
-- ARGV[2] state       as in PLACES, or `behind`
-- ARGV[3] key         of the events that are behind it
-- ARGV[4] limit       events to examine
-- ARGV[5] after_at    of the position that the page comes after
-- ARGV[6] after_id    its id; empty for the first page. Among events behind a key, their lane is searched for it
-- ARGV[7] upto_at     of the last position to list; not for events behind a key
-- ARGV[8] upto_id     its id
-- Returns the time and the id of the last event examined if there are more, else {0, empty}, then for each event its
-- time and the values of return_event().
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local PLACES =
  {scheduled = SCHEDULED, ready = READY, leased = LEASED, retry = RETRY, dead = DEAD, done = DONE}

local failure, is_there = look(ARGV[1])
if failure then return failure end
local reply = {0, ''}
if not is_there then return reply end
local place, limit, after_id = PLACES[ARGV[2]], tonumber(ARGV[4]), ARGV[6]
local upto_at, upto_id = tonumber(ARGV[7]), ARGV[8]

-- One more than the page has, to see whether there are more.
local ids, times = {}, {}
if place then
  local failure, entries = entries_behind(place, tonumber(ARGV[5]), after_id, limit + 1)
  if failure then return failure end
  for i = 1, #entries, 2 do
    local id, at = entries[i], tonumber(entries[i + 1])
    if comes_before(upto_at, upto_id, at, id) then break end
    ids[#ids + 1], times[#times + 1] = id, at
  end
else
  local failure, is_there, at
  if after_id ~= '' then failure, is_there = read('HGET', EVENTS, after_id) end
  if failure then return failure end
  if is_there then failure, at = read('LPOS', LANE .. ARGV[3], after_id) end
  if failure then return failure end
  failure, ids = behind_of(ARGV[3], at and at + 1 or 0, limit + 1)
  if failure then return failure end
end

local failure, heads, states = records_of(ids)
failure = failure or check_heads(ids, heads)
if failure then return failure end
local bytes = 0
for i, id in ipairs(ids) do
  local at = times[i] or 0
  reply[#reply + 1] = at
  local failure, more = return_event(reply, id, heads[i], states[i])
  if failure then return failure end
  bytes = bytes + more
  if ids[i + 1] and (i == limit or bytes > STEP_BYTES_MAX) then
    reply[1], reply[2] = at, id
    break
  end
end
return reply
