-- For steps that only the holder of the consumer lease may do.
--
-- KEYS[4] lease  string: the holder's token; absent where the step is not fenced
-- ARGV[1] token  the caller's; empty where the step is not fenced
local function fence()
  if KEYS[4] and redis.call('GET', KEYS[4]) ~= ARGV[1] then
    return redis.error_reply('LEASE_LOST the consumer lease of ick ' .. FLAG .. ' ran out or is held by another consumer')
  end
end
