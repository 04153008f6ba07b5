-- Lists a page of a namespace's documents, by key, secondary key and id.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry
-- KEYS[7] none  KEYS[8] docs  KEYS[9] contents  KEYS[10] namespaces
-- ARGV[1] namespace
-- ARGV[2] limit                documents, from 1
-- ARGV[3] start                the first key; empty for all
-- ARGV[4] end                  the key before which the range ends; empty for no end
-- ARGV[5] has_after            1 if the page comes after a document, else 0
-- ARGV[6] after_key            of that document
-- ARGV[7] after_secondary_key  of that document
-- ARGV[8] after_id             of that document
-- ARGV[9] omits_contents       1 to leave the contents out, else 0
-- returns {{ten elements for each document}}, with key, secondary key and id of the last behind if there are more
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT, AGAIN
local namespace, limit = ARGV[1], whole(ARGV[2], PAGE_MAX)
if not is_doc_name(namespace) then return invalid('there is no namespace') end
if not limit or limit < 1 then return invalid('limit is not a whole number from 1 to ' .. PAGE_MAX) end
if ARGV[5] ~= '0' and ARGV[5] ~= '1' then return invalid('has_after is neither 0 nor 1') end
if ARGV[9] ~= '0' and ARGV[9] ~= '1' then return invalid('omits_contents is neither 0 nor 1') end

local failure = check()
if failure then return failure end

local from, to = '[' .. ARGV[3], ARGV[4] == '' and '+' or '(' .. ARGV[4]
if ARGV[5] == '1' then
  local after = ARGV[6] .. '\0' .. ARGV[7] .. '\0' .. ARGV[8]
  if not precedes(after, ARGV[3]) then from = '(' .. after end
end
local failure, members = read('ZRANGEBYLEX', keys_key(namespace), from, to, 'LIMIT', 0, limit + 1)
if failure then return failure end
local ids = {}
for i = 1, math.min(limit, #members) do
  ids[i] = select(3, split(members[i]))
end
local failure, docs = docs_of(namespace, ids, ARGV[9] == '1')
if failure then return failure end
if #members > limit then return {docs, split(members[limit])} end
return {docs}
