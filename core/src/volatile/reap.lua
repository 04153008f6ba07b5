-- Removes expired fields and locks, in the order of expiry, and fields without an expiry.
--
-- KEYS[1] map  KEYS[2] zset  KEYS[3] lock  KEYS[4] lockz  KEYS[5] meta  KEYS[6] due, if in a family
-- ARGV[1] limit  fields and locks, 1 to REAP_MAX; and up to as many fields without an expiry
-- returns {fields, locks, fields without an expiry, 1 if there is more to remove else 0, microseconds until the next
--   expires or nil if there is none}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
local limit = whole(ARGV[1], REAP_MAX)
if not limit or limit < 1 then return invalid('limit is not a whole number from 1 to ' .. REAP_MAX) end
local failure = check_fields() or check_locks() or DUE and (read('ZCARD', DUE)) or nil
if failure then return failure end
local failure, fields = read_expired(ZSET, limit)
if failure then return failure end
local failure, locks = read_expired(LOCKZ, limit)
if failure then return failure end

-- The positions of the next field and the next lock, each of which is two strings: name and score.
local field, lock = 1, 1
for _ = 1, limit do
  local field_score, lock_score = fields[field + 1], locks[lock + 1]
  if field_score and (not lock_score or tonumber(field_score) <= tonumber(lock_score)) then
    remove_field(fields[field])
    field = field + 2
  elseif lock_score then
    remove_lock(locks[lock])
    lock = lock + 2
  else
    break
  end
end
failure = write_all()
if failure then return failure end
forget_fence()

-- If there are more values than expiries, some of the values have none, because the server has evicted the expiries.
-- They are searched for at random: a scan would have to begin each time with the fields that are known to have an
-- expiry.
local orphans, sample_size = 0, math.max(10 * limit, 100)
if redis.call('HLEN', MAP) > redis.call('ZCARD', ZSET) then
  local sample = redis.call('HRANDFIELD', MAP, sample_size)
  local failure, scores = read_each('ZMSCORE', ZSET, sample)
  if failure then return failure end
  for i, name in ipairs(sample) do
    if not scores[i] and orphans < limit then
      gather('HDEL', MAP, name)
      orphans = orphans + 1
    end
  end
  failure = write_all()
  if failure then return failure end
end

-- The same for locks: they are put back into the sorted set, to be removed when they have expired.
local returned = 0
if redis.call('HLEN', LOCK) > redis.call('ZCARD', LOCKZ) then
  local sample = redis.call('HRANDFIELD', LOCK, sample_size, 'WITHVALUES')
  for i = 1, #sample, 2 do
    if not redis.call('ZSCORE', LOCKZ, sample[i]) then
      local lock = unpack_lock(sample[i + 1])
      returned = returned + 1
      if lock then
        gather('ZADD', LOCKZ, score_of(lock.expiry), sample[i])
      else
        gather('HDEL', LOCK, sample[i])
      end
    end
  end
  failure = write_all(META)
  if failure then return failure end
end

local next_in
for _, key in ipairs({ZSET, LOCKZ}) do
  local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  if first[2] then
    local left = math.max(micros(first[2]) - NOW, 0)
    next_in = math.min(next_in or left, left)
  end
end
local more = next_in == 0 or orphans > 0 and redis.call('HLEN', MAP) > redis.call('ZCARD', ZSET) or
  returned > 0 and redis.call('HLEN', LOCK) > redis.call('ZCARD', LOCKZ)
if more then next_in = 0 end
if DUE then
  -- A server whose memory is full lets a script add data after a command that removes data.
  redis.call('ZREM', DUE, BASE)
  if next_in then redis.call('ZADD', DUE, score_of(NOW + next_in), BASE) end
end
return {(field - 1) / 2, (lock - 1) / 2, orphans, more and 1 or 0, next_in or false}
