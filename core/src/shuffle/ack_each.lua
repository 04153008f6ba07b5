-- Acknowledges messages of a group, and deletes them if asked to; says of each whether it was waiting for that.
--
-- KEYS[1] queue  KEYS[2] meta  KEYS[3] notifications
-- ARGV[1] group
-- ARGV[2] delete  1 to delete the messages as well, else 0
-- ARGV[3…] for each stream: its number (-1 for the default stream), how many ids, ids
-- returns {1 or 0, …}: whether each was waiting to be acknowledged, in their order
-- errors WRONGTYPE, INVALID_ARGUMENT
if not ARGV[2] then return invalid('it is not said whether to delete') end
local lists, failure = lists_of_ids(3, ARGV[1])
if failure then return failure end

local reply = {}
for _, list in ipairs(lists) do
  for i = list.first, list.last do
    reply[#reply + 1] = redis.call('XACK', list.key, list.group, ARGV[i])
    if ARGV[2] == '1' then redis.call('XDEL', list.key, ARGV[i]) end
  end
end
return reply
