-- The end of a delivery.

-- The outcomes: the event is not leased by this token any more; the delivery ended as requested; the event does not
-- exist, as it had already ended; it failed and became a dead letter; it had been cancelled and is deleted.
local LOST, ENDED, GONE, DIED, STOPPED = 0, 1, 2, 3, 4

-- When the first event that failed is retried.
local tried_at

-- Ends a delivery whose event failed, or is given back; returns an error, and the outcome.
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

-- Ends a delivery, which is leased until `leased_until`, if it is leased; returns an error, and the outcome.
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
    -- The same end, sent again; or the event has already failed because its lease expired, and was not delivered again.
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
