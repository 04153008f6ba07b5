-- The locks of a volatile hash: shared by all steps on them.
--
-- KEYS[3] lock   hash: field -> {fence, until, token}, by cmsgpack; until in microseconds since the Unix epoch
-- KEYS[4] lockz  sorted set: field -> until, in seconds since the Unix epoch, with microseconds
-- KEYS[5] meta   hash: version -> the layout's; fence -> the last one. It is removed with the last lock
local LOCK, LOCKZ, META = KEYS[3], KEYS[4], KEYS[5]
local LAYOUT = 'vhash.v1'

-- The last fence, 0 for none. A fence is the time in microseconds, or the last fence plus 1 if that is larger.
local last_fence

-- Checks the keys of the locks and reads the last fence; returns an error.
local function check_locks()
  local failure, meta = read('HMGET', META, 'version', 'fence')
  if failure then return failure end
  if meta[1] and meta[1] ~= LAYOUT then return wrong_layout(META, meta[1], LAYOUT) end
  last_fence = whole(meta[2], INTEGER_MAX) or 0
  local failure = read('HLEN', LOCK)
  return failure or (read('ZCARD', LOCKZ))
end

-- Decodes the record of a lock; returns nothing if it cannot be read.
local function unpack_lock(record)
  local is_packed, lock = pcall(cmsgpack.unpack, record)
  local is_lock = is_packed and type(lock) == 'table' and type(lock[1]) == 'number' and type(lock[2]) == 'number' and
    type(lock[3]) == 'string'
  return is_lock and {fence = lock[1], expiry = lock[2], token = lock[3]} or nil
end

-- The lock of a field, nothing if it is free; or an error as the first value.
local function read_lock(field)
  local failure = check_locks()
  if failure then return failure end
  local record = redis.call('HGET', LOCK, field)
  if not record then return end
  local lock = unpack_lock(record)
  if not lock then return redis.error_reply('CORRUPT a lock in key ' .. LOCK .. ' cannot be read') end
  if lock.expiry > NOW then return nil, lock end
end

-- Checks the arguments of a step on a lock: field, token and, if it takes one, a time to live; returns an error.
local function check_term(field, token, ttl)
  if not is_field(field) then return invalid('the field has more than ' .. FIELD_BYTES_MAX .. ' bytes') end
  if not token or token == '' or #token > TOKEN_BYTES_MAX then
    return invalid('the token has not 1 to ' .. TOKEN_BYTES_MAX .. ' bytes')
  end
  if not ttl then return invalid('ttl_us is not a whole number from ' .. TTL_US_MIN .. ' to 100 years') end
end

-- Gathers the writes that give a token the lock of a field.
local function hold(field, fence, token, ttl)
  gather('HSET', LOCK, field, cmsgpack.pack({fence, NOW + ttl, token}))
  gather('ZADD', LOCKZ, score_of(NOW + ttl), field)
  lower_due(NOW + ttl)
  gather('HSET', META, 'version', LAYOUT)
  gather('HSET', META, 'fence', string.format('%.0f', math.max(fence, last_fence)))
end

-- Gathers the removal of a lock.
local function remove_lock(field)
  gather('HDEL', LOCK, field)
  gather('ZREM', LOCKZ, field)
end

-- Takes the lock of a field if it is free, or again if the token holds it; the latter also on a server whose memory is
-- full. Taking a free lock also removes up to two expired locks.
-- Returns what acquire returns; or an error as the first value.
local function take_lock(field, token, ttl)
  local failure, lock = read_lock(field)
  if failure then return failure end
  if lock and lock.token ~= token then return nil, {0, lock.expiry - NOW} end
  if not lock then
    local failure, expired = read_expired(LOCKZ, 2)
    if failure then return failure end
    for i = 1, #expired, 2 do
      remove_lock(expired[i])
    end
  end
  local fence = lock and lock.fence or math.max(last_fence + 1, NOW)
  hold(field, fence, token, ttl)
  failure = write_all(lock and META)
  if failure then return failure end
  return nil, {1, fence}
end

-- Forgets the last fence once there are no locks and the clock has passed it; to be called after the writes.
local function forget_fence()
  if redis.call('HLEN', LOCK) == 0 and last_fence > 0 and last_fence < NOW then redis.call('DEL', META) end
end
