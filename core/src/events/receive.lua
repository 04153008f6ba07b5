-- Receive: makes due events ready, and leases events that are ready.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation, ARGV[2] slot, ARGV[3] number: as for publish.lua
-- ARGV[4] max         how many at most, up to 1000
-- ARGV[5] lease       microseconds; 0 for the lease of the configuration
-- ARGV[6] token       eight bytes that no other delivery has
-- ARGV[7] seed        of the backoffs of events whose lease has expired
-- ARGV[8] process     the listening process, by a unique name, which begins with a `c` on a cluster; or empty
-- ARGV[9] waits       whether it keeps waiting: 1 if this takes nothing, 2 if it takes something, 3 in any case, 0 in
--                     none
-- ARGV[10] suspects   1 to take a suspect, alone; 2 if the receiver also reports when it starts the suspect
--                     (renew.lua), before which an expiring lease does not count; 0 for none
-- Returns {until when they are leased, how many more events are ready, in how many microseconds the next one may come
-- (-1 for never, 0 if this step left something undone), the rank of the process among the waiting ones (-1 if it does
-- not wait, WAITING_PLACES if it is not one of the first), how many schedules need more ticks, 1 if ready events are
-- held up only by the rate}, the ids of these schedules, and for each event the values of return_event().
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

-- After how many microseconds without a check a waiting process counts as gone, and how many of these a step forgets.
local GONE_AFTER, GONE_MAX = 15000000, 100

local failure, before = begin(ARGV[2], ARGV[3])
if failure then return failure end
local slot, step, token = ARGV[2], tonumber(ARGV[3]), ARGV[6]
local max, lease = tonumber(ARGV[4]), tonumber(ARGV[5])
if lease == 0 then lease = LEASE end

-- The same call again: returns the events that it took and that are still leased by it; how much is left to do is not
-- known any more.
local reply = {NOW + lease, 0, -1, -1, 0, 0}
if before then
  reply[3] = 0
  local failure, heads, states = records_of(before)
  if failure then return failure end
  for i, id in ipairs(before) do
    local failure, leased_until = read('ZSCORE', LEASED, id)
    if failure then return failure end
    if leased_until and heads[i] and string.sub(states[i], 1, 8) == token then
      local failure = return_event(reply, id, heads[i], states[i])
      if failure then return failure end
      reply[1] = tonumber(leased_until)
    end
  end
  return reply
end
if FROZEN then
  reply[3] = FROZEN_LOOK
  return reply
end
seed_with(tonumber(ARGV[7]))

-- After the clock was set back, all schedules that are due later are checked, and the bucket fills from now on.
if IS_SET_BACK then
  local failure, ids = read('ZRANGEBYSCORE', TICKS, '(' .. number(NOW), '+inf')
  if failure then return failure end
  for _, id in ipairs(ids) do
    gather('ZADD', TICKS, number(NOW), id)
  end
  if TOKENS_AT > NOW then
    TOKENS_AT = NOW
    gather('HSET', ROOT, 'tokens_at', number(NOW))
  end
  IS_SET_BACK = false
  failure = commit()
  if failure then return failure end
end

-- When the first member of a zset is due, false for never; nil if this step has changed that.
local known = {}

-- The ids and times of a zset whose time has come, up to now or to another time, if there are any; or an error as the
-- first value.
local function due_of(key, most, upto)
  local failure, at = first_of(key)
  known[key] = at
  if failure or not at or at > NOW then return failure end
  known[key] = nil
  return read('ZRANGEBYSCORE', key, '-inf', number(upto or NOW), 'WITHSCORES', 'LIMIT', 0, most)
end

-- Whether this step leaves due items undone.
local is_more = false

-- Due ticks become scheduled events, unless a limit of this step leaves them to the next one.
local failure, ticks = due_of(TICKS, TICKS_MAX)
if failure then return failure end
local ticked_upto
if ticks then
  local schedules, made = use_schedules(), 0
  for i = 1, #ticks, 2 do
    local id = ticks[i]
    if made >= TICKS_MAX then
      ticked_upto = tonumber(ticks[i + 1])
      break
    end
    local failure, schedule = schedules.read(id)
    if failure then return failure end
    local first, look_at, needs_ticks = schedule.ticks[1], nil, false
    local failure, fired = schedules.fire(id, schedule)
    if failure then return failure end
    if not fired then
      look_at, needs_ticks = NOW + REFILL_AGAIN, true
    elseif first and first > NOW and schedules.is_ahead(schedule) then
      -- No tick is due yet, as they were computed by a clock that was ahead.
      look_at, needs_ticks = math.min(first, NOW + REFILL_AGAIN), true
    else
      look_at, needs_ticks = schedule.ticks[1], schedules.is_running_out(schedule)
    end
    schedules.put(id, schedule, look_at)
    if needs_ticks then
      reply[5] = reply[5] + 1
      reply[#reply + 1] = id
    end
    made = made + (fired or 0)
  end
  if not ticked_upto and #ticks == 2 * TICKS_MAX then ticked_upto = tonumber(ticks[#ticks]) end
  is_more = ticked_upto ~= nil
  failure = commit()
  if failure then return failure end
end

-- Due events become ready.
local failure, due = due_of(SCHEDULED, DUE_MAX, ticked_upto)
if failure then return failure end
if due then
  local ids = every(due, 1, 2)
  local failure, heads = read_fields(EVENTS, ids)
  failure = failure or check_heads(ids, heads)
  if failure then return failure end
  for i, id in ipairs(ids) do
    local failure, is_ready = nil, true
    gather('ZREM', SCHEDULED, id)
    if flag(string.byte(heads[i], 2), KEYED) then
      failure, is_ready = use_lanes().enter(key_of(heads[i]), id)
      if failure then return failure end
    end
    if is_ready then make_ready(id, tonumber(due[2 * i])) end
  end
  is_more = is_more or #ids == DUE_MAX
end

-- Events whose lease has expired are retried, or become dead letters.
local failure, late = due_of(LEASED, LATE_MAX)
if failure then return failure end
if late then
  local ids = every(late, 1, 2)
  local failure, heads, states = records_of(ids)
  failure = failure or check_heads(ids, heads)
  if failure then return failure end
  for i, id in ipairs(ids) do
    local state = read_state(states[i])
    local is_begun = not flag(state.marks, UNBEGUN)
    gather('ZREM', LEASED, id)
    unleased = unleased + 1
    local failure
    if flag(state.marks, ASKED_TO_STOP) then
      failure = remove(id, heads[i], true) or free_lane(heads[i]) or use_cancelled().remember(id)
    elseif not is_begun then
      -- Its receiver died of another cause.
      state.marks, state.attempts = RAN_OUT, state.attempts - 1
      put_state(id, state)
      make_ready(id, NOW)
    else
      state.marks, state.crashes = RAN_OUT, state.crashes + 1
      if is_used_up(state) then
        failure = bury(id, heads[i], state, CRASHED, state.err)
      else
        put_state(id, state)
        local delay = backoff(state.attempts)
        if delay > 0 then gather('ZADD', RETRY, number(NOW + delay), id) else make_ready(id, NOW) end
      end
    end
    if failure then return failure end
  end
  is_more = is_more or #ids == LATE_MAX
end

-- Events whose backoff is over become ready.
local failure, retried = due_of(RETRY, DUE_MAX)
if failure then return failure end
if retried then
  for i = 1, #retried, 2 do
    gather('ZREM', RETRY, retried[i])
    make_ready(retried[i], tonumber(retried[i + 1]))
  end
  is_more = is_more or #retried == 2 * DUE_MAX
end
if late then known[RETRY] = nil end
failure = expire_done() or commit()
if failure then return failure end

-- Ready events are leased, and expired ones dropped; an event that has been delivered once does not expire.
local failure, room = leases_left()
if failure then return failure end
local most = PAUSED and 0 or math.min(max, room, (rate_left(NOW)))
local taken, bytes, skipped = {}, 0, 0
local offset, is_full = 0, false
-- The state of an event that is delivered for the first time.
local first_state = struct.pack(STATES, token, 1, 0, 0, 0, 0)
while not is_full and #taken < most do
  local failure, ids = read('ZRANGE', READY, offset, offset + most - #taken - 1)
  if failure then return failure end
  offset = offset + #ids
  -- Then events that were behind one that is dropped here.
  if #ids == 0 and skipped > 0 then
    local entries = strings_of('ZADD', READY)
    ids = every({unpack(entries, 1, 2 * (most - #taken))}, 2, 2)
    for i = 1, #entries do
      entries[i] = entries[i + 2 * #ids]
    end
    freed = freed - #ids
  end
  if #ids == 0 then break end
  local failure, heads, states = records_of(ids)
  failure = failure or check_heads(ids, heads)
  if failure then return failure end
  for i, id in ipairs(ids) do
    local head, record = heads[i], states[i]
    local state = record and read_state(record)
    is_full = state and is_suspect(state)
    if is_full and (#taken > 0 or ARGV[10] == '0') then break end
    local expires = struct.unpack('>I8', head, EXPIRES_AT)
    gather('ZREM', READY, id)
    if not record and expires > 0 and expires <= NOW then
      local failure = remove(id, head) or free_lane(head)
      if failure then return failure end
      skipped = skipped + 1
      is_full = skipped == SKIPPED_MAX
    else
      if record then
        state.token, state.attempts, state.reason = token, state.attempts + 1, 0
        state.marks = is_full and ARGV[10] == '2' and UNBEGUN or 0
        record = put_state(id, state)
      else
        record = first_state
        gather('HSET', STATE, id, record)
      end
      local failure, more = return_event(reply, id, head, record)
      if failure then return failure end
      bytes = bytes + more
      gather('ZADD', LEASED, number(NOW + lease), id)
      taken[#taken + 1] = id
      is_full = is_full or bytes > STEP_BYTES_MAX
    end
    if is_full then break end
  end
end
local took = #taken
if took > 0 or skipped > 0 then
  if FLOW > 0 and took > 0 then
    TOKENS, TOKENS_AT = tokens_in_bucket(NOW) - took * TOKEN, NOW
    gather('HSET', ROOT, 'tokens', number(TOKENS))
    gather('HSET', ROOT, 'tokens_at', number(TOKENS_AT))
  end
  remember(slot, step, taken)
  failure = commit()
  if failure then return failure end
end

local failure, left = read('ZCARD', READY)
if failure then return failure end
if took > 0 and known[LEASED] ~= nil then known[LEASED] = math.min(known[LEASED] or math.huge, NOW + lease) end
local has_room = room > took
local failure, alarm = next_alarm(known, left, has_room)
if failure then return failure end
local is_open = left > 0 and not PAUSED and has_room
local may_take = is_open and rate_left(NOW) > 0
reply[2] = left
if is_open and not may_take then reply[6] = 1 end
if is_more or may_take then
  reply[3] = 0
elseif alarm then
  reply[3] = math.max(0, alarm - CLOCK)
end
freed = math.min(freed, left)
-- A consumer may have been notified of one event and have taken another: a receive that leaves events, or work undone,
-- notifies the next consumer.
if (may_take or is_more) and took > 0 then freed = math.max(freed, 1) end

-- The process keeps waiting, or stops.
local process, waits = ARGV[8], tonumber(ARGV[9])
if process ~= '' then
  if waits == (took > 0 and 2 or 1) or waits == 3 then
    local gone = redis.pcall('ZRANGEBYSCORE', WAITING, '-inf', number(NOW - GONE_AFTER), 'LIMIT', 0, GONE_MAX)
    if #gone > 0 then redis.pcall('ZREM', WAITING, unpack(gone)) end
    redis.pcall('ZADD', WAITING, number(NOW), process)
    redis.pcall('PEXPIRE', WAITING, 2 * GONE_AFTER / 1000)
    reply[4] = WAITING_PLACES
    for i, other in ipairs(redis.pcall('ZRANGE', WAITING, 0, WAITING_PLACES - 1)) do
      if other == process then reply[4] = i - 1 end
    end
  else
    redis.pcall('ZREM', WAITING, process)
  end
end
announce((took > 0 or process ~= '') and alarm, took)
return reply
