-- Open: makes a partition, and brings its configuration up to date; of partition 0 also the map of its queue.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  the partition's, as the map says; 0 for a new queue, which gets the second of its creation
-- ARGV[2] ranges      of the key space that it owns; nothing for one that is not made here
-- ARGV[3] revision    of the configuration, from 1; nothing only to look
-- ARGV[4] config      as in CONFIG
-- ARGV[5] map         of partition 0: of each partition its generation, as *, and its ranges; nothing of others
-- Returns {revision, config, map} as they are then; {0} if the partition is not there.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local failure, root = read('HMGET', ROOT, 'version', 'revision', 'config', 'map', 'now', 'gone', 'generation')
if failure then return failure end
local version, revision, config, map, now, is_gone, before = unpack(root)
if version and version ~= LAYOUT then return wrong_layout(ROOT, version, LAYOUT) end
if ARGV[2] ~= '' and not version then
  if is_gone then return redis.error_reply('STALE the queue is being deleted') end
  local generation = ARGV[1]
  -- It was deleted, or all that it had was given away, since the caller read the map.
  if generation ~= '0' and tonumber(before or 0) >= tonumber(generation) then
    return redis.error_reply('STALE the generation is ' .. before)
  end
  if generation == '0' then
    local second = math.floor((now or redis.call('TIME')[1] * 1000000) / 1000000)
    -- A queue of the same name has lived in this second already.
    generation = number(math.max(second, (tonumber(before) or 0) + 1))
  end
  -- A server whose memory is full refuses a new queue, but no partition of one that is there: see write_all().
  if ARGV[1] ~= '0' then redis.call('HDEL', ROOT, '') end
  if before then redis.call('PERSIST', ROOT) end
  map = string.gsub(ARGV[5], '%*', generation)
  redis.call('HSET', ROOT, 'version', LAYOUT, 'generation', generation, 'ranges', ARGV[2], 'clock', 0, 'sequence', 0,
    'period', 0, 'revision', ARGV[3], 'config', ARGV[4], 'map', map)
  return {tonumber(ARGV[3]), ARGV[4], map}
end
if not version then return {0} end
-- The caller knows an older map, or that of a deleted queue of this name.
if ARGV[1] ~= '0' and ARGV[3] ~= '' and before ~= ARGV[1] then
  return redis.error_reply('STALE the generation is ' .. before)
end
if ARGV[3] ~= '' and tonumber(revision) < tonumber(ARGV[3]) then
  revision, config = ARGV[3], ARGV[4]
  -- Also on a server whose memory is full, as what fills it may be paused.
  redis.call('HDEL', ROOT, '')
  redis.call('HSET', ROOT, 'revision', revision, 'config', config)
  configure(config)
  -- All that wait look again: they may receive what the configuration before did not let them.
  if not PAUSED then redis.pcall('PUBLISH', CHANNEL, WAKE_ALL) end
end
return {tonumber(revision), config, map}
