-- Messages in arguments; for ack and extend.

-- Whether digits are a number of Redis' 64 bits.
local function is_number(digits)
  return #digits < 20 or #digits == 20 and digits <= '18446744073709551615'
end

local function is_id(text)
  local time, sequence = string.match(text, '^(%d+)%-(%d+)$')
  return time and is_number(time) and is_number(sequence)
end

-- The lists of ids from ARGV[at] on, each as {key, group, first argument, last argument}; or
-- second an error. All are checked, so that what follows cannot fail half-way.
local function lists_of_ids(at, own_group)
  local lists = {}
  if not own_group then return nil, invalid('there is no group') end
  while at <= #ARGV do
    local key, group = QUEUE, QUEUE
    if ARGV[at] ~= '-1' then
      local number = whole(ARGV[at], STREAMS_MAX - 1)
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
    if count > 0 then lists[#lists + 1] = {key, group, at + 2, at + 1 + count} end
    at = at + 2 + count
  end
  return lists
end
