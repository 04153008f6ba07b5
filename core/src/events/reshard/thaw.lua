-- Thaw: the partition has given its part away, and delivers again.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  of the change
-- ARGV[2] period      after how many milliseconds a partition that owns nothing any more expires, 0 for never: calls
--                     may be sent again for as long
-- Returns 1 if this step made the change, 0 if an earlier one did.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION

local failure = begin()
if failure then return failure end
local failure, root = read('HMGET', ROOT, 'leaving', 'out', 'cursor')
if failure then return failure end
local leaving, out, cursor = unpack(root)
if not leaving then return 0 end
if out or cursor ~= 'done 0' then return redis.error_reply('STALE the partition has not given everything away') end
redis.call('HDEL', ROOT, 'leaving', 'left_at', 'frozen', 'sent', 'cursor')
local kept = tonumber(ARGV[2])
for _, key in ipairs(kept > 0 and {ROOT, OPS[1], OPS[2]} or {}) do
  redis.call('PEXPIRE', key, kept)
end
redis.pcall('PUBLISH', CHANNEL, WAKE_ALL)
return 1
