-- What is kept of an event.

-- A state is STATES and what the last failure said: the token of the delivery, how often the event was delivered and
-- how often a lease of it ran out since it was published or redriven, how often it was redriven, marks, and why it
-- is dead.
local STATES = '>c8I2I2I2BB'
local STATE_BYTES = 16
-- Marks of a state: the event was cancelled while it was leased; its last lease ran out; its last delivery was ended;
-- the event is done, and kept; it is leased as a suspect, and the work on it has not begun.
local ASKED_TO_STOP, RAN_OUT, SETTLED, KEPT, UNBEGUN = 1, 2, 4, 8, 16
local REJECTED, EXHAUSTED, CRASHED = 1, 2, 3

-- Each `step`th element of a list, from one on.
local function every(list, from, step)
  local some = {}
  for i = from, #list, step do
    some[#some + 1] = list[i]
  end
  return some
end

-- The key of a head, and its name; nothing if it has none.
local function key_of(head)
  local length = struct.unpack('>I2', head, HEAD_BYTES + 1)
  return string.sub(head, HEAD_BYTES + 3, HEAD_BYTES + 2 + length)
end

local function name_of(head)
  local length = struct.unpack('>I2', head, HEAD_BYTES + 1)
  local id_length = string.byte(head, HEAD_BYTES + 3 + length)
  return string.sub(head, HEAD_BYTES + 1, HEAD_BYTES + 3 + length + id_length)
end

-- A state, of its record.
local function read_state(record)
  local token, attempts, crashes, redriven, marks, reason = struct.unpack(STATES, record)
  return {token = token, attempts = attempts, crashes = crashes, redriven = redriven, marks = marks, reason = reason,
    err = string.sub(record, STATE_BYTES + 1)}
end

-- Gathers a state, and returns its record.
local function put_state(id, state)
  local record = struct.pack(STATES, state.token, state.attempts, state.crashes, state.redriven, state.marks,
    state.reason) .. state.err
  gather('HSET', STATE, id, record)
  return record
end

-- Puts what is returned of an event behind a reply: its id, its state (nothing before its first delivery), its head and
-- its body if that is short, and its body if that is long. Returns an error, and how many bytes a long body has.
local function return_event(reply, id, head, record)
  local n, body = #reply, ''
  if flag(string.byte(head, 2), LONG) then
    local failure, long = read('HGET', BODIES, id)
    if failure then return failure end
    body = long
  end
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = id, record or '', head, body
  return nil, #body
end

-- The heads and the states of events, as far as they are there; or first an error.
local function records_of(ids)
  local failure, heads = read_fields(EVENTS, ids)
  if failure then return failure end
  local failure, states = read_fields(STATE, ids)
  return failure, heads, states
end

-- Takes the heads of events that are done from these; returns an error.
local function hide_done(ids, heads)
  local failure, ended = read('ZMSCORE', DONE, unpack(ids))
  if failure then return failure end
  for i = 1, #ids do
    heads[i] = not ended[i] and heads[i]
  end
end

-- An error, unless each event that waits or is leased has its head.
local function check_heads(ids, heads)
  for i = 1, #ids do
    if not heads[i] then
      return redis.error_reply('WRONGTYPE key ' .. EVENTS .. ' holds no head of an event that waits')
    end
  end
end

-- Of the events that are behind another one of their key, from a place in their lane on: up to `most` ids, their heads,
-- and the place behind the last one. What was cancelled in a long lane is passed over. Or first an error.
local function behind_of(key, from, most)
  local ids, heads, page = {}, {}, math.max(most, 100)
  repeat
    local failure, some = read('LRANGE', LANE .. key, from, from + page - 1)
    if failure then return failure end
    local failure, found = read_fields(EVENTS, some)
    if failure then return failure end
    for i = 1, #some do
      if #ids < most then
        from = from + 1
        if found[i] then ids[#ids + 1], heads[#heads + 1] = some[i], found[i] end
      end
    end
  until #some < page or #ids == most
  return nil, ids, heads, from
end

-- How many events there are that are not done; or first an error.
local function events_left()
  local failure, stored = read('HLEN', EVENTS)
  if failure then return failure end
  local failure, done = read('ZCARD', DONE)
  return failure, stored - (done or 0), done
end
