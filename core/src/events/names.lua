-- The names of events: one event of a partition has a name, until it has ended and the name is forgotten.

local names
local function use_names()
  if names then return names end
  -- Names that new events get in this step.
  names = {given = {}}

  -- Frees the name of an event that has ended, or remembers it until the end of its window; that of a cancelled event
  -- is freed. Returns an error.
  function names.free(id, head, is_cancelled)
    local name = name_of(head)
    if names.given[name] then return end
    local failure, owner = read('HGET', NAMES, name)
    if failure then return failure end
    if owner ~= id then return end
    local _, _, _, _, _, until_when = struct.unpack(HEAD, head)
    if until_when > NOW and not is_cancelled then
      gather('ZADD', FORGET, number(until_when), name)
    else
      gather('HDEL', NAMES, name)
      -- The name of a dead letter is already in FORGET.
      gather('ZREM', FORGET, name)
    end
  end

  -- Forgets up to `most` names whose time is over; returns an error, and how many.
  function names.forget(most)
    local failure, over = read('ZRANGEBYSCORE', FORGET, '-inf', number(NOW), 'LIMIT', 0, most)
    if failure then return failure end
    for _, name in ipairs(over) do
      gather('ZREM', FORGET, name)
      gather('HDEL', NAMES, name)
    end
    return nil, #over
  end

  -- The event that has a name: its id, its head unless it has ended, and whether it is leased; nil if the name is free.
  -- Or an error as the first value. The event `ending` ends with this step.
  function names.holder(name, ending)
    local failure, id = read('HGET', NAMES, name)
    if failure or not id then return failure end
    local failure, head = read('HGET', EVENTS, id)
    if failure then return failure end
    local failure, forgotten_at = read('ZSCORE', FORGET, name)
    if failure then return failure end
    if head and id == ending then forgotten_at = select(6, struct.unpack(HEAD, head)) end
    if not head or forgotten_at then
      if forgotten_at and tonumber(forgotten_at) > NOW then return nil, {id = id} end
      return
    end
    local failure, leased_until = read('ZSCORE', LEASED, id)
    if failure then return failure end
    return nil, {id = id, head = head, is_leased = leased_until ~= false}
  end

  return names
end
