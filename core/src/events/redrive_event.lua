-- Turns a dead letter into an event that waits for its first delivery, now or at a later time.

-- Gathers the writes for that; returns an error. The event comes behind the others of its key, as its old place is
-- gone, does not get its name back, and does not expire, as it has been received once.
local function redrive(id, head, record, later)
  local state = read_state(record)
  state.attempts, state.crashes, state.reason = 0, 0, 0
  state.redriven = math.min(state.redriven + 1, 65535)
  -- A late end of an earlier delivery does not count.
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
    -- If a part of the key space is in transit, so may be events of its key that come before it.
    gather('ZADD', SCHEDULED, number(fire_at), id)
    return
  end
  local failure, is_ready = nil, true
  if flag(flags, KEYED) then failure, is_ready = use_lanes().enter(key_of(head), id) end
  if failure then return failure end
  if is_ready then make_ready(id, NOW) end
end
