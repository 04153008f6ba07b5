-- Removes an event that is not leased, in any state.

-- Lanes longer than this are not searched: the id stays in its lane without an event, and is skipped when its turn
-- comes.
local SEARCHED_MAX = 1000

-- Removes an event from those that this step makes ready; returns whether it was among them.
local function keep_from_ready(id)
  local entries = strings_of('ZADD', READY)
  for i = #entries, 2, -2 do
    if entries[i] == id then
      table.remove(entries, i)
      table.remove(entries, i - 1)
      freed = freed - 1
      return true
    end
  end
end

-- Removes an event that is not leased from the zset or the lane that it waits in, and frees its lane if it is the first
-- one of its key; returns an error. An event that is `kept` has to leave its lane, even a long one.
local function vacate(id, head, is_kept)
  local found
  for _, key in ipairs({SCHEDULED, READY, RETRY, DEAD}) do
    local failure, score = read('ZSCORE', key, id)
    if failure then return failure end
    if score then
      gather('ZREM', key, id)
      found = key
      break
    end
  end
  if not flag(string.byte(head, 2), KEYED) or found == SCHEDULED or found == DEAD then return end
  if found or keep_from_ready(id) then return free_lane(head) end
  -- It waits behind another one of its key.
  local key = key_of(head)
  local failure, lane = use_lanes().of(key)
  if failure then return failure end
  for at, other in ipairs(lane.behind) do
    if other == id then
      table.remove(lane.behind, at)
      return
    end
  end
  local failure, length = read('LLEN', LANE .. key)
  if failure then return failure end
  lane.removed[id] = is_kept or length <= SEARCHED_MAX
end

-- Removes an event that is not leased, which frees its name, unless another event takes it; returns an error.
local function withdraw(id, head)
  return remove(id, head, true) or vacate(id, head)
end
