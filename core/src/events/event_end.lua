-- How an event ends.

-- Frees or remembers the name of an event that ends; returns an error.
local function free_name(id, head, is_cancelled)
  if flag(string.byte(head, 2), NAMED) then return use_names().free(id, head, is_cancelled) end
end

-- Gathers the writes that remove an event, apart from the zsets and the lane that it waits in; returns an error.
local function remove(id, head, is_cancelled)
  gather('HDEL', EVENTS, id)
  gather('HDEL', STATE, id)
  if flag(string.byte(head, 2), LONG) then gather('HDEL', BODIES, id) end
  return free_name(id, head, is_cancelled)
end

-- How many events this step adds to the kept ones.
local kept = 0

-- Ends an event that is done: it is removed, or kept for the configured time. Returns an error.
local function complete(id, head, record)
  if RETENTION == 0 then return remove(id, head) end
  local state = read_state(record)
  state.marks, state.reason = KEPT, 0
  put_state(id, state)
  gather('ZADD', DONE, number(NOW), id)
  kept = kept + 1
  return free_name(id, head)
end

-- Makes an event a dead letter; returns an error.
local function bury(id, head, state, reason, err)
  state.marks, state.reason, state.err = state.marks - state.marks % 2, reason, err
  put_state(id, state)
  gather('ZADD', DEAD, number(NOW), id)
  return free_name(id, head) or free_lane(head)
end

-- Removes events whose retention is over: up to DONE_MAX, or twice as many as the step adds. Returns an error.
local function expire_done()
  local until_when, most = number(NOW - RETENTION), math.max(DONE_MAX, 2 * kept)
  local failure, ids = read('ZRANGEBYSCORE', DONE, '-inf', until_when, 'LIMIT', 0, most)
  if failure or #ids == 0 then return failure end
  local failure, heads = read_fields(EVENTS, ids)
  failure = failure or check_heads(ids, heads)
  if failure then return failure end
  for i, id in ipairs(ids) do
    gather('ZREM', DONE, id)
    failure = remove(id, heads[i])
    if failure then return failure end
  end
end
