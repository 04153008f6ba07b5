-- Puts dead letters back into their queue: each becomes a new message of the stream that it came from.
--
-- KEYS[1] queue  KEYS[2] meta  KEYS[3] notifications  KEYS[4] dead
-- ARGV[1] ttl_ms   how long each key lives after this; 0 for ever
-- ARGV[2] streams  that the queue gets if it has none
-- ARGV[3…] ids of dead letters
-- returns {id, stream, id, stream, …}: the new message of each; a letter that is not there has a nil and a 0
-- errors WRONGTYPE, INVALID_ARGUMENT
local ttl, wanted = ttl_of(ARGV[1]), whole(ARGV[2], STREAMS_MAX)
if not ttl then return invalid('ttl_ms is not 0 or a whole number from a second to 100 years') end
if not wanted or wanted < 1 then return invalid('streams is not a whole number from 1 to ' .. STREAMS_MAX) end
for i = 3, #ARGV do
  if not is_id(ARGV[i]) then return invalid('an id is not one of a message') end
end

local failure, _, shape = shape_of_queue()
if failure then return failure end
for _, key in ipairs({DEAD, NOTIFICATIONS}) do
  failure = length(key)
  if failure then return failure end
end

-- The numbers of the streams are kept and not the letters, which may be long.
local targets = {}
for i = 3, #ARGV do
  local entry = redis.call('XRANGE', DEAD, ARGV[i], ARGV[i])[1]
  local number = entry and origin_of(entry[2])
  if number then
    -- What came from the default stream, which is another program's, goes to the first one; and writers may spread
    -- over fewer streams by now.
    targets[i] = math.max(0, number) % (shape or wanted)
    failure = length(stream_key(targets[i]))
    if failure then return failure end
  end
end

local reply, keys, last = {}, {}, nil
for i = 3, #ARGV do
  local target = targets[i]
  -- It may be named twice.
  local entry = target and redis.call('XRANGE', DEAD, ARGV[i], ARGV[i])[1]
  if entry then
    local key, _, history = stream_key(target), origin_of(entry[2])
    make_room()
    reply[#reply + 1] = add_strings(key, entry[2], history + 1, #entry[2])
    reply[#reply + 1] = target
    redis.call('XDEL', DEAD, ARGV[i])
    keys[target], last = key, target
  else
    reply[#reply + 1] = false
    reply[#reply + 1] = 0
  end
end
if last then announce(keys, last, ttl, not shape and wanted) end
return reply
