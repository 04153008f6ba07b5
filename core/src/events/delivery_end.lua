-- The end of a delivery.

-- What comes of it: it is not leased by this token any more; it ended so; the event is not there, as it had ended
-- before; it failed and was given up; it was cancelled meanwhile and is gone.
local LOST, ENDED, GONE, DIED, STOPPED = 0, 1, 2, 3, 4

-- When the first event is tried again that failed.
local tried_at

-- The event failed, or is given back; returns an error, and what came of it.
local function fail(id, head, state, how, delay, err)
  state.err, state.marks = err ~= '' and err or state.err, SETTLED
  if how == 'dead' then return bury(id, head, state, REJECTED, state.err), ENDED end
  if how == 'released' then
    state.attempts = state.attempts - 1
  elseif is_used_up(state) then
    return bury(id, head, state, EXHAUSTED, state.err), DIED
  end
  delay = delay ~= '' and tonumber(delay) or how == 'failed' and backoff(state.attempts) or 0
  put_state(id, state)
  if delay > 0 then
    gather('ZADD', RETRY, number(NOW + delay), id)
    if not tried_at or NOW + delay < tried_at then tried_at = NOW + delay end
  else
    make_ready(id, NOW)
  end
  return nil, ENDED
end

-- Ends a delivery that is leased until then, if it is; returns an error, and what came of it.
local function settle(id, head, record, leased_until, token, how, delay, err)
  if not head then
    local failure, _, is_taken = use_cancelled().find(id)
    return failure, is_taken and LOST or GONE
  end
  local marks = record and string.byte(record, STATE_BYTES - 1) or 0
  if flag(marks, KEPT) then return nil, GONE end
  if not record or string.sub(record, 1, 8) ~= token then return nil, LOST end
  if leased_until then
    gather('ZREM', LEASED, id)
    unleased = unleased + 1
  else
    -- The same end, sent again; or the event has failed already as its lease ran out, and was not delivered again.
    if how ~= 'done' then return nil, ENDED end
    if flag(marks, SETTLED) then return nil, LOST end
    return complete(id, head, record) or vacate(id, head, RETENTION > 0), ENDED
  end
  local failure
  if how == 'done' then
    failure = complete(id, head, record)
  elseif flag(marks, ASKED_TO_STOP) then
    failure = remove(id, head, true) or use_cancelled().remember(id)
  else
    return fail(id, head, read_state(record), how, delay, err)
  end
  return failure or free_lane(head), how == 'done' and ENDED or STOPPED
end
