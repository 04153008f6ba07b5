-- Events that become ready: of the events of a key only the first one is.

-- How many events become ready, and how many leases end.
local freed, unleased = 0, 0

local function make_ready(id, rank)
  gather('ZADD', READY, number(rank), id)
  freed = freed + 1
end

-- Lists, each followed by an id to remove from it.
local removals = {}

-- The changes of the lanes that a step uses.
local lanes
local function use_lanes()
  if lanes then return lanes end
  lanes = {}
  -- For each lane: its head, how many of the events behind it have moved up, which events are added at its end, and
  -- which were removed from within it, with whether the id has to be removed from the list too.
  local by_key, order = {}, {}

  function lanes.of(key)
    local lane = by_key[key]
    if lane then return nil, lane end
    local failure, head = read('HGET', LANES, key)
    if failure then return failure end
    lane = {head = head, before = head, moved = 0, behind = {}, removed = {}}
    by_key[key], order[#order + 1] = lane, key
    return nil, lane
  end

  -- Puts an event into its lane; true if it is ready, because no event is before it. Or an error as the first value.
  function lanes.enter(key, id)
    local failure, lane = lanes.of(key)
    if failure then return failure end
    if not lane.head then
      lane.head = id
      return nil, true
    end
    lane.behind[#lane.behind + 1] = id
    return nil, false
  end

  -- Removes the head of a lane, which has ended; returns the next event, which is ready now, if there is one. Or an
  -- error as the first value.
  function lanes.leave(key)
    local failure, lane = lanes.of(key)
    if failure then return failure end
    local next
    repeat
      local failure, behind = read('LINDEX', LANE .. key, lane.moved)
      if failure then return failure end
      if behind then
        local failure, is_there = read('HGET', EVENTS, behind)
        if failure then return failure end
        lane.moved = lane.moved + 1
        if not is_there then
          local failure, left, _, upto = behind_of(key, lane.moved, 1)
          if failure then return failure end
          behind, lane.moved = left[1], upto
        end
      end
      next = behind
      local is_removed = next and lane.removed[next] ~= nil
      if is_removed then lane.removed[next] = nil end
    until not is_removed
    next = next or table.remove(lane.behind, 1)
    lane.head = next or nil
    return nil, lane.head
  end

  -- Gathers the changes of the lanes.
  function lanes.gather()
    for _, key in ipairs(order) do
      local lane = by_key[key]
      if lane.moved > 0 then gather('LTRIM', LANE .. key, lane.moved, -1) end
      for _, id in ipairs(lane.behind) do
        gather('RPUSH', LANE .. key, id)
      end
      for id, is_searched in pairs(lane.removed) do
        if is_searched then removals[#removals + 1], removals[#removals + 2] = LANE .. key, id end
      end
      if lane.head ~= lane.before then
        if lane.head then gather('HSET', LANES, key, lane.head) else gather('HDEL', LANES, key) end
      end
    end
    lanes = nil
  end

  return lanes
end

-- Makes the next event of the key ready, from now on or from `rank`; returns an error.
local function free_lane(head, rank)
  if not flag(string.byte(head, 2), KEYED) then return end
  local failure, next = use_lanes().leave(key_of(head))
  if failure then return failure end
  if next then make_ready(next, rank or NOW) end
end
