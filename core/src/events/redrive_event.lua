-- Makes a dead letter an event again that waits for its first delivery, now or until a time to come.

-- Gathers that; returns an error. It comes behind the others of its key, as its order is over, does not take its name
-- again, and does not expire, as it has been received in time.
local function redrive(id, head, record, later)
  local state = read_state(record)
  state.attempts, state.crashes, state.reason = 0, 0, 0
  state.redriven = math.min(state.redriven + 1, 65535)
  -- No late end of an earlier delivery counts.
  state.marks = SETTLED
  put_state(id, state)
  gather('ZREM', DEAD, id)
  local format, flags, fire_at, published, expires, named = struct.unpack(HEAD, head)
  local waits = later and later > NOW
  if waits then fire_at = later end
  if expires > 0 or waits then
    gather('HSET', EVENTS, id, struct.pack(HEAD, format, flags, fire_at, published, 0, named) ..
      string.sub(head, HEAD_BYTES + 1))
  end
  if FROZEN or waits then
    -- Events of its key may be on their way that come before it, if a part of the key space is.
    gather('ZADD', SCHEDULED, number(fire_at), id)
    return
  end
  local failure, is_ready = nil, true
  if flag(flags, KEYED) then failure, is_ready = use_lanes().enter(key_of(head), id) end
  if failure then return failure end
  if is_ready then make_ready(id, NOW) end
end
