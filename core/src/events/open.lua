-- Open: creates a partition, and brings its configuration up to date; for partition 0 also the map of its queue.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  the partition's, as in the map; 0 for a new queue, which gets the second of its creation
-- ARGV[2] ranges      of the key space that it owns; empty for a partition that is not created here
-- ARGV[3] revision    of the configuration, from 1; empty to only read
-- ARGV[4] config      as in CONFIG
-- ARGV[5] map         for partition 0: for each partition its generation, as *, and its ranges; empty for others
-- Returns the resulting {revision, config, map}; {0} if the partition does not exist.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local failure, root = read('HMGET', ROOT, 'version', 'revision', 'config', 'map', 'now', 'gone', 'generation')
if failure then return failure end
local version, revision, config, map, now, is_gone, before = unpack(root)
if version and version ~= LAYOUT then return wrong_layout(ROOT, version, LAYOUT) end
if ARGV[2] ~= '' and not version then
  if is_gone then return redis.error_reply('STALE the queue is being deleted') end
  local generation = ARGV[1]
  -- Since the caller read the map, the partition was deleted, or has given everything away.
  if generation ~= '0' and tonumber(before or 0) >= tonumber(generation) then
    return redis.error_reply('STALE the generation is ' .. before)
  end
  if generation == '0' then
    local second = math.floor((now or redis.call('TIME')[1] * 1000000) / 1000000)
    -- A queue of the same name may already have existed in this second.
    generation = number(math.max(second, (tonumber(before) or 0) + 1))
  end
  -- A server whose memory is full refuses a new queue, but not a partition of an existing one: see write_all().
  if ARGV[1] ~= '0' then redis.call('HDEL', ROOT, '') end
  if before then redis.call('PERSIST', ROOT) end
  map = string.gsub(ARGV[5], '%*', generation)
  redis.call('HSET', ROOT, 'version', LAYOUT, 'generation', generation, 'ranges', ARGV[2], 'clock', 0, 'sequence', 0,
    'period', 0, 'revision', ARGV[3], 'config', ARGV[4], 'map', map)
  return {tonumber(ARGV[3]), ARGV[4], map}
end
if not version then return {0} end
-- The caller has an older map, or that of a deleted queue of this name.
if ARGV[1] ~= '0' and ARGV[3] ~= '' and before ~= ARGV[1] then
  return redis.error_reply('STALE the generation is ' .. before)
end
if ARGV[3] ~= '' and tonumber(revision) < tonumber(ARGV[3]) then
  revision, config = ARGV[3], ARGV[4]
  -- Also on a server whose memory is full, since the queue that fills it may be paused.
  redis.call('HDEL', ROOT, '')
  redis.call('HSET', ROOT, 'revision', revision, 'config', config)
  configure(config)
  -- All waiting processes check again: they may receive events that the earlier configuration held back.
  if not PAUSED then redis.pcall('PUBLISH', CHANNEL, WAKE_ALL) end
end
return {tonumber(revision), config, map}
