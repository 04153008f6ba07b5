-- Inserts, changes and deletes tasks and documents, if all that is named is as it has to be; else
-- nothing.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry
-- KEYS[7] none  KEYS[8] docs  KEYS[9] contents  KEYS[10] namespaces
-- ARGV[1…] a modification, see modification.lua
-- returns what the modification does
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT, AGAIN
local failure, modification, behind = parse(1)
if failure then return failure end
if behind <= #ARGV then return invalid('there are more entries than it says') end

local failure, is_made = begin()
if failure then return failure end
failure = read_stored({modification})
if failure then return failure end
local failure, reply = modify(modification)
if failure then return failure end

if not is_made and #writes > 0 then gather('HSET', META, 'version', LAYOUT) end
grows = #modification[1] + #modification[5] > 0
settle_namespaces()
failure = commit()
if failure then return failure end
announce_ready()
announce_soonest()
return reply
