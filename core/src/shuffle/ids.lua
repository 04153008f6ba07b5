-- Messages in arguments; for the steps of a consumer on what it holds.

-- Whether digits are a number of Redis' 64 bits.
local function is_number(digits)
  return #digits < 20 or #digits == 20 and digits <= '18446744073709551615'
end

local function is_id(text)
  local time, sequence = string.match(text, '^(%d+)%-(%d+)$')
  return time and is_number(time) and is_number(sequence)
end

-- The lists of ids from ARGV[at] on, each with its key, group, number, and its first and last argument; or
-- second an error. All are checked, so that what follows cannot fail half-way.
local function lists_of_ids(at, own_group)
  local lists = {}
  if not own_group then return nil, invalid('there is no group') end
  while at <= #ARGV do
    local key, group, number = QUEUE, QUEUE, -1
    if ARGV[at] ~= '-1' then
      number = whole(ARGV[at], STREAMS_MAX - 1)
      if not number then return nil, invalid('a stream is not a whole number below ' .. STREAMS_MAX) end
      key, group = stream_key(number), own_group
    end
    local count = whole(ARGV[at + 1], 1e6)
    if not count or at + 1 + count > #ARGV then return nil, invalid('a stream has fewer ids than it says') end
    for i = at + 2, at + 1 + count do
      if not is_id(ARGV[i]) then return nil, invalid('an id is not one of a message') end
    end
    local failure = length(key)
    if failure then return nil, failure end
    if count > 0 then
      lists[#lists + 1] = {key = key, group = group, number = number, first = at + 2, last = at + 1 + count}
    end
    at = at + 2 + count
  end
  return lists
end

-- How often a message was delivered that this consumer holds, and its entry; nothing if it does not hold it (any
-- more).
local function held(list, id, consumer)
  local pending = redis.pcall('XPENDING', list.key, list.group, id, id, 1)
  if not pending[1] or pending[1][2] ~= consumer then return nil end
  local entry = redis.call('XRANGE', list.key, id, id)[1]
  if entry then return pending[1][4], entry end
  -- Another group deleted the message; nobody can work on it any more.
  redis.call('XACK', list.key, list.group, id)
end
