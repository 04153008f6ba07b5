-- The keys of a partition and their contents: shared by all steps of events.
--
-- Functions that few steps need are made at their first use, by functions whose names begin with `use_`: making a
-- function costs a step more than calling one.
--
-- KEYS[1] root  hash: the partition itself
-- KEYS[2] none  never exists, so that no step runs while a cluster moves the slot and has only a part of it
-- All other keys begin with the first and its {tag}, so that they lie in its slot. They are made here, because the
-- records determine which lanes a step needs. README.md, "Keys on Redis", describes their contents byte by byte.
local ROOT = KEYS[1]
local EVENTS, BODIES, NAMES, FORGET = ROOT .. ':events', ROOT .. ':bodies', ROOT .. ':names', ROOT .. ':forget'
local SCHEDULED, READY, LEASED = ROOT .. ':scheduled', ROOT .. ':ready:default', ROOT .. ':leased:default'
local RETRY, DEAD, DONE = ROOT .. ':retry:default', ROOT .. ':dead:default', ROOT .. ':done:default'
local STATE = ROOT .. ':state:default'
local LANES, LANE = ROOT .. ':lanes:default', ROOT .. ':lane:default:'
local SCHEDULES, TEMPLATES, TICKS = ROOT .. ':schedules', ROOT .. ':templates', ROOT .. ':ticks'
local WAITING = ROOT .. ':waiting:default'
-- The channel for all waiting processes; that of one process has a colon and its name behind it.
local CHANNEL = ROOT .. ':at:default'
local LAYOUT = 'events.v1'

-- An id is 12 bytes, big-endian: the generation of the partition (4), the sequence in it (6), and the part of the key
-- space (2).
-- A head begins with HEAD: the format 1, flags (KEYED, NAMED, LONG), and four times in microseconds since 1970: when it
-- fires, when it was published, when it expires unless it has been delivered by then (0 for never), and until when its
-- name is remembered.
-- Then a name: length (2) and bytes of the key, length (1) and bytes of the deduplication id. Then the length of the
-- body (4).
local HEAD = '>BBI8I8I8I8'
local HEAD_BYTES, EXPIRES_AT = 34, 19

-- For how many milliseconds from the beginning of a period its replies may be requested.
local OPS_KEPT = (2 * PERIOD + CLOCK_AHEAD_MAX) / 1000

-- The partition as it was when the step began.
local GENERATION, SEQUENCE, PAUSED, FROZEN, NOW, OPS
-- The time by which consumers wait: NOW may be ahead of it.
local CLOCK
-- Whether the clock has been set back since the last stored time, by more than NOW makes up for: a receive corrects the
-- effects.
local IS_SET_BACK
-- The configuration; times in microseconds.
local LEASE, MAX_ATTEMPTS, MAX_CRASHES, BACKOFF_MIN, BACKOFF_MAX, EVENTS_MAX, NAMES_MAX, RETENTION
local CONFIG = '>I8I2I2I8I8I8I8BI8I8I8I8I2'
-- The partition's share of the limits of the queue: how many events may be leased at a time, 0 for any number; and for
-- a bucket of tokens, how many an event takes, how many the bucket holds, and how many flow into it per microsecond, 0
-- for no limit. An event takes the flow of one second at a rate of one event per second, times the number of
-- partitions: so all are integers.
local CONCURRENCY, TOKEN, BUCKET, FLOW
-- The tokens in the bucket, and the time of that number.
local TOKENS, TOKENS_AT

local function flag(flags, one)
  return flags % (2 * one) >= one
end

-- The time of a step, and the time by which consumers wait. A test sets both. Otherwise the first never goes back,
-- unless the stored clock was far ahead: then the third value is true.
local function time_of_step(clock, set)
  local now = set
  if not set then
    local time = redis.call('TIME')
    now = time[1] * 1000000 + time[2]
  end
  if clock > now + CLOCK_AHEAD_MAX then return now, now, true end
  return set or math.max(clock, now), now
end

-- The reply to a step of this number, if the caller has already sent it in this slot and it was done; an empty table
-- for one that a later step has overtaken. Or an error as the first value.
local function repeated(slot, step)
  for i = 1, 2 do
    if i == 1 or OPS[4] >= OPS[3] - 1 then
      local failure, known = read('HGET', OPS[i], slot)
      if failure then return failure end
      if known then
        local last = struct.unpack('>I8', known)
        if last == step then return nil, cmsgpack.unpack(string.sub(known, 9)) end
        return nil, last > step and {} or nil
      end
    end
  end
end

-- Reads the configuration, and the tokens in the bucket if a receive has taken any.
local function configure(config, tokens, tokens_at)
  local paused, concurrency, rate, burst, partitions
  LEASE, MAX_ATTEMPTS, MAX_CRASHES, BACKOFF_MIN, BACKOFF_MAX, EVENTS_MAX, NAMES_MAX, paused, concurrency, rate, burst,
    RETENTION, partitions = struct.unpack(CONFIG, config)
  PAUSED, CONCURRENCY = paused == 1, math.floor(concurrency / partitions)
  TOKEN, FLOW = partitions * 1000000, rate
  BUCKET = math.max(TOKEN, (burst > 0 and burst or rate) * 1000000)
  TOKENS, TOKENS_AT = tonumber(tokens) or BUCKET, tonumber(tokens_at) or 0
end

-- Checks that the partition is the one that the caller means; returns an error, and for a step with a slot and a number
-- the result of repeated(). The partition may have changed before a step is sent again.
local function begin(slot, step)
  local failure, root = read('HMGET', ROOT, 'version', 'generation', 'clock', 'sequence', 'config', 'now', 'period',
    'tokens', 'tokens_at', 'frozen')
  if failure then return failure end
  if not root[1] then return redis.error_reply('STALE the partition is not there') end
  if root[1] ~= LAYOUT then return wrong_layout(ROOT, root[1], LAYOUT) end
  GENERATION, SEQUENCE = tonumber(root[2]), tonumber(root[4])
  NOW, CLOCK, IS_SET_BACK = time_of_step(tonumber(root[3]), tonumber(root[6]))
  configure(root[5], root[8], root[9])
  FROZEN = root[10] ~= false
  PAUSED = PAUSED or FROZEN
  local period, before = math.floor(NOW / PERIOD), tonumber(root[7])
  OPS = {ROOT .. ':ops:' .. period % 2, ROOT .. ':ops:' .. (period + 1) % 2, period, before}
  local failure, done
  if slot then failure, done = repeated(slot, tonumber(step)) end
  if failure then return failure end
  if not done and root[2] ~= ARGV[1] then return redis.error_reply('STALE the generation is ' .. root[2]) end
  return nil, done
end

-- A time as text; cached, as most times that a step writes are equal.
local written, as_text
local function number(value)
  if value ~= written then written, as_text = value, string.format('%.0f', value) end
  return as_text
end

-- Whether this step is the first remembered one of its period.
local begins_period = false

-- Begins a new period, once in a step.
local function rotate()
  local period, before = OPS[3], OPS[4]
  if before == period then return end
  OPS[4] = period
  redis.call('UNLINK', OPS[1])
  if before < period - 1 then redis.call('UNLINK', OPS[2]) end
  gather('HSET', ROOT, 'period', number(period))
  begins_period = true
end

-- Gathers the reply of the step, so that it can be returned again.
local function remember(slot, step, reply)
  rotate()
  gather('HSET', OPS[1], slot, struct.pack('>I8', step) .. cmsgpack.pack(reply))
end

-- The time of an argument: +<us> from now, =<us> since 1970. A past time means now.
local function time_of(text)
  local value = tonumber(string.sub(text, 2))
  if string.byte(text) == 43 then return NOW + value end
  return math.max(value, NOW)
end
