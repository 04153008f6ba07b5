-- Sets fields and the time at which they expire; then removes up to two fields that have expired.
--
-- KEYS[1] map  KEYS[2] zset  KEYS[3] lock, if fenced  KEYS[4] lockz, if fenced  KEYS[5] meta, if fenced
-- KEYS[6] due, if in a family; after the other keys that are given
-- ARGV[1] ttl_us      microseconds until the fields expire, from TTL_US_MIN
-- ARGV[2] condition   always; absent for those that are not live, present for those that are
-- ARGV[3] lock_field  the field of the lock that the caller holds; empty where the step is not fenced
-- ARGV[4] token       the caller's; empty where the step is not fenced
-- ARGV[5] release     1 to release the lock, else 0
-- ARGV[6…] for each field: field, value
-- returns {for each field: 1 if it was set, 0 if the condition did not hold}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT, LEASE_LOST
local IS_FENCED = #KEYS > 3
local ttl, condition, lock_field, token, releases = ttl_of(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], ARGV[5] == '1'
if not ttl then return invalid('ttl_us is not a whole number from ' .. TTL_US_MIN .. ' to 100 years') end
if condition ~= 'always' and condition ~= 'absent' and condition ~= 'present' then
  return invalid('condition is neither always, absent nor present')
end
if not releases and ARGV[5] ~= '0' then return invalid('release is neither 0 nor 1') end
if #ARGV < 7 or #ARGV > 2 * FIELDS_MAX + 5 or #ARGV % 2 == 0 then
  return invalid('there are not 1 to ' .. FIELDS_MAX .. ' fields with their values')
end
if releases and not IS_FENCED then return invalid('there is no lock to release') end

if IS_FENCED then
  local failure = check_term(lock_field, token, ttl)
  if failure then return failure end
  local failure, lock = read_lock(lock_field)
  if failure then return failure end
  if not lock or lock.token ~= token then
    return redis.error_reply('LEASE_LOST the lock of the field expired or another token holds it')
  end
end

local fields = {}
for i = 6, #ARGV, 2 do
  if not is_field(ARGV[i]) then return invalid('a field has more than ' .. FIELD_BYTES_MAX .. ' bytes') end
  fields[#fields + 1] = ARGV[i]
end
local failure, expiries = check_fields(), {}
if failure then return failure end
if condition ~= 'always' then
  failure, expiries = read_expiries(fields)
  if failure then return failure end
end

-- A field that is named twice is live the second time if it was set the first time.
local reply, is_set, score = {}, {}, score_of(NOW + ttl)
for i, field in ipairs(fields) do
  local is_live = is_set[field] or expiries[i]
  if condition == 'always' or (condition == 'present') == (is_live and true or false) then
    gather('HSET', MAP, field, ARGV[2 * i + 5])
    gather('ZADD', ZSET, score, field)
    reply[i], is_set[field] = 1, true
  else
    reply[i] = 0
  end
end
if next(is_set) then lower_due(NOW + ttl) end
-- The fields are written before anything is removed, so that a server whose memory is full refuses new values. Expired
-- fields are removed even then, to have room the next time.
local is_written, failure = pcall(write_all)
if is_written and failure then return failure end
local refusal = not is_written and failure
writes, by_key = {}, {}

local failure, expired = read_expired(ZSET, REAPED_MAX)
if failure then return failure end
for i = 1, #expired, 2 do
  remove_field(expired[i])
end
if refusal then
  write_all()
  if type(refusal) == 'table' then return refusal end
  -- Before Redis 7 the refusal is a text with the position in the script, and this is the only code that it names.
  local full = string.match(refusal, 'OOM .*')
  if full then return {err = full} end
  error(refusal, 0)
end
if releases then remove_lock(lock_field) end
failure = write_all()
if failure then return failure end
if releases then forget_fence() end
return reply
