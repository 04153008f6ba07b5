-- The stored records of an event.

-- A state is STATES and the text of the last failure: the token of the delivery, how often the event was delivered and
-- how often a lease of it expired since it was published or redriven, how often it was redriven, marks, and why it is
-- dead.
local STATES = '>c8I2I2I2BB'
local STATE_BYTES = 16
-- Marks of a state: the event was cancelled while it was leased; its last lease expired; its last delivery was ended;
-- the event is done, and kept; it is leased as a suspect, and its processing has not started.
local ASKED_TO_STOP, RAN_OUT, SETTLED, KEPT, UNBEGUN = 1, 2, 4, 8, 16
local REJECTED, EXHAUSTED, CRASHED = 1, 2, 3

-- Each `step`th element of a list, from the index `from` on.
local function every(list, from, step)
  local some = {}
  for i = from, #list, step do
    some[#some + 1] = list[i]
  end
  return some
end

-- The key of a head, and its name; empty if it has none.
local function key_of(head)
  local length = struct.unpack('>I2', head, HEAD_BYTES + 1)
  return string.sub(head, HEAD_BYTES + 3, HEAD_BYTES + 2 + length)
end

local function name_of(head)
  local length = struct.unpack('>I2', head, HEAD_BYTES + 1)
  local id_length = string.byte(head, HEAD_BYTES + 3 + length)
  return string.sub(head, HEAD_BYTES + 1, HEAD_BYTES + 3 + length + id_length)
end

-- Reads a state from its record.
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

-- Appends an event to a reply: its id, its state (empty before its first delivery), its head, followed by its body if
-- that is short, and its body if that is long. Returns an error, and the number of bytes of a long body.
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

-- The heads and the states of events, false for missing ones; or an error as the first value.
local function records_of(ids)
  local failure, heads = read_fields(EVENTS, ids)
  if failure then return failure end
  local failure, states = read_fields(STATE, ids)
  return failure, heads, states
end

-- Sets the heads of events that are done to false; returns an error.
local function hide_done(ids, heads)
  local failure, ended = read('ZMSCORE', DONE, unpack(ids))
  if failure then return failure end
  for i = 1, #ids do
    heads[i] = not ended[i] and heads[i]
  end
end

-- Returns an error, unless each of these waiting or leased events has its head.
local function check_heads(ids, heads)
  for i = 1, #ids do
    if not heads[i] then
      return redis.error_reply('WRONGTYPE key ' .. EVENTS .. ' holds no head of an event that waits')
    end
  end
end

-- The events that are behind another one of their key, from a position in their lane on: up to `most` ids, their heads,
-- and the position after the last one. Cancelled events of a long lane are skipped. Or an error as the first value.
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

-- How many events are not done; or an error as the first value.
local function events_left()
  local failure, stored = read('HLEN', EVENTS)
  if failure then return failure end
  local failure, done = read('ZCARD', DONE)
  return failure, stored - (done or 0), done
end
