-- Lists the stores among some of a server's keys: those that hold tasks or documents, or of which a queue is paused.
--
-- KEYS[1] key  of this server; what it holds does not matter
-- ARGV[1] cursor  where to go on; 0 to begin
-- returns {where to go on, 0 at the end, how many stores, the key that those of each begin with, …}
-- errors none
local page = redis.call('SCAN', ARGV[1], 'MATCH', '*:tasks:meta', 'COUNT', 1000, 'TYPE', 'hash')
local reply = {page[1], 0}
for _, meta in ipairs(page[2]) do
  local store = string.sub(meta, 1, -6)
  for _, own in ipairs({'', ':docs', ':paused'}) do
    -- A user who has no right to a store does not see it.
    if redis.pcall('EXISTS', store .. own) == 1 then
      reply[#reply + 1] = store
      reply[2] = reply[2] + 1
      break
    end
  end
end
return reply
