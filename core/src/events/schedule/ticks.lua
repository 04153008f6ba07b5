-- Schedules: events that a calendar adds.

local schedules
local function use_schedules()
  if schedules then return schedules end
  schedules = {}
  -- The record of each: the format 1, flags (LATEST, IN_ORDER, ENDS, FIRED); as numbers of eight bytes its version,
  -- which rises with each change, the time to live of its events (0 for ever), how many ticks were not received in
  -- time, and the last tick that has passed; the id of its last event, the part of the key space that it belongs to,
  -- and the version of the time zone data from which its ticks were computed, which only clients read. Then, if it is
  -- FIRED, two numbers that say which ticks fired without a gap: the first of them, and the last one if that was by a
  -- clock that was ahead (else 0: it is the last that has passed). Then its next ticks, which clients compute.
  local SCHEDULE = '>BBI8I8I8I8c12I2I4'
  local SCHEDULE_BYTES = 52
  local NO_EVENT = string.rep('\0', 12)

  function schedules.unpack(record)
    local _, flags, version, ttl, missed, passed, last, vslot, zones = struct.unpack(SCHEDULE, record)
    local ticks, at, fired_from, fired_upto = {}, SCHEDULE_BYTES + 1, 0, 0
    if flag(flags, FIRED) then
      flags = flags - FIRED
      fired_from, fired_upto, at = struct.unpack('>I8I8', record, at)
    end
    for at = at, #record, 8 do
      ticks[#ticks + 1] = struct.unpack('>I8', record, at)
    end
    return {flags = flags, version = version, ttl = ttl, missed = missed, passed = passed, last = last, vslot = vslot,
      zones = zones, ticks = ticks, fired_from = fired_from, fired_upto = fired_upto}
  end

  -- A schedule, nil if it does not exist; or an error as the first value. If the last tick that has passed is in the
  -- future, it passed by a clock that was ahead: the ticks that fired do not fire again.
  function schedules.read(id)
    local failure, record = read('HGET', SCHEDULES, id)
    if failure or not record then return failure end
    local schedule = schedules.unpack(record)
    if schedule.passed > NOW then
      if schedule.fired_from > 0 then schedule.fired_upto = math.max(schedule.fired_upto, schedule.passed) end
      schedule.passed = 0
    end
    return nil, schedule
  end

  -- Whether its last change was by a clock that was far ahead: its ticks may be too late.
  function schedules.is_ahead(schedule)
    return schedule.version > NOW + CLOCK_AHEAD_MAX
  end

  -- Gathers a schedule, and when it is checked, if at all.
  function schedules.put(id, schedule, look_at)
    local has_fired = schedule.fired_from > 0
    local packed = {struct.pack(SCHEDULE, 1, schedule.flags + (has_fired and FIRED or 0), schedule.version, schedule.ttl,
      schedule.missed, schedule.passed, schedule.last, schedule.vslot, schedule.zones)}
    if has_fired then packed[2] = struct.pack('>I8I8', schedule.fired_from, schedule.fired_upto) end
    for _, tick in ipairs(schedule.ticks) do
      packed[#packed + 1] = struct.pack('>I8', tick)
    end
    gather('HSET', SCHEDULES, id, table.concat(packed))
    if look_at then gather('ZADD', TICKS, number(look_at), id) else gather('ZREM', TICKS, id) end
  end

  function schedules.next_version(before)
    return math.max(before + 1, NOW)
  end

  -- Gathers an event of a schedule, which a receive makes ready in its order; returns an error, and its id.
  function schedules.occur(id, schedule, at)
    local failure, template = read('HGET', TEMPLATES, id)
    if failure then return failure end
    local length = struct.unpack('>I4', template)
    local body, key, flags = string.sub(template, 5 + length), '', 0
    SEQUENCE = math.max(SEQUENCE + 1, math.floor((NOW - SEQUENCE_BASE) / 16))
    local event = struct.pack('>I4I6I2', GENERATION, SEQUENCE, schedule.vslot)
    if flag(schedule.flags, IN_ORDER) then key, flags = id, KEYED end
    local is_long = #body > SHORT_MAX
    if is_long then
      flags = flags + LONG
      gather('HSET', BODIES, event, body)
    end
    local head = struct.pack(HEAD, 1, flags, at, at, schedule.ttl > 0 and at + schedule.ttl or 0, 0) ..
      struct.pack('>I2', #key) .. key .. '\0' .. struct.pack('>I4', #body)
    gather('HSET', EVENTS, event, is_long and head or head .. body)
    gather('ZADD', SCHEDULED, number(at), event)
    gather('HSET', ROOT, 'sequence', number(SEQUENCE))
    return nil, event
  end

  -- Removes an event of a schedule if no consumer has received it; returns an error, and whether it did.
  local function replace(event)
    if event == NO_EVENT then return end
    local failure, head = read('HGET', EVENTS, event)
    if failure or not head then return failure end
    local failure, state = read('HGET', STATE, event)
    if failure or state then return failure end
    return withdraw(event, head), true
  end

  -- Turns the due ticks of a schedule into events, and removes them from it; returns an error, and how many events. If
  -- all ticks are due, it makes none and returns nil, unless no others follow or `is_whole`: a later tick, which would
  -- replace them, may be due too. An event that they replace is removed in any case.
  function schedules.fire(id, schedule, is_whole)
    local ticks, due, made = schedule.ticks, 0, 0
    while due < #ticks and ticks[due + 1] <= NOW do
      due = due + 1
    end
    if due == 0 then return nil, 0 end
    local is_latest, first = flag(schedule.flags, LATEST), 1
    if is_latest then
      local failure, is_replaced = replace(schedule.last)
      if failure then return failure end
      if is_replaced then schedule.missed = schedule.missed + 1 end
    end
    if due == #ticks and not is_whole and not flag(schedule.flags, ENDS) then return end
    if is_latest then
      first = due
      schedule.missed = schedule.missed + due - 1
    end
    local fired_from = schedule.fired_upto == 0 and first == 1 and schedule.fired_from or 0
    for i = first, due do
      if schedule.ttl > 0 and ticks[i] + schedule.ttl <= NOW then
        schedule.missed, fired_from = schedule.missed + 1, 0
      else
        local failure, event = schedules.occur(id, schedule, ticks[i])
        if failure then return failure end
        schedule.last, made = event, made + 1
        if fired_from == 0 then fired_from = ticks[i] end
      end
    end
    if ticks[due] > schedule.fired_upto then schedule.fired_from, schedule.fired_upto = fired_from, 0 end
    schedule.passed, schedule.ticks = ticks[due], {unpack(ticks, due + 1)}
    schedule.version = schedules.next_version(schedule.version)
    return nil, made
  end

  -- Whether a client has to compute more ticks.
  function schedules.is_running_out(schedule)
    local ticks = schedule.ticks
    if flag(schedule.flags, ENDS) then return false end
    return #ticks < TICKS_LEFT_MIN or #ticks < TICKS_LEFT_ENOUGH and ticks[#ticks] < NOW + REACH_MIN
  end

  return schedules
end
