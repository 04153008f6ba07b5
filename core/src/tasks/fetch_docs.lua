-- Looks up documents of a namespace by their ids.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry
-- KEYS[7] none  KEYS[8] docs  KEYS[9] contents  KEYS[10] namespaces
-- ARGV[1] namespace
-- ARGV[2] omits_contents  1 to leave the contents out, else 0
-- ARGV[3…] ids
-- returns {ten elements for each document}, in the order of the ids, without those that are not there
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT, AGAIN
if not is_doc_name(ARGV[1]) then return invalid('there is no namespace') end
if ARGV[2] ~= '0' and ARGV[2] ~= '1' then return invalid('omits_contents is neither 0 nor 1') end
local ids = {}
for i = 3, #ARGV do
  ids[i - 2] = ARGV[i]
end

local failure = check()
if failure then return failure end
local failure, docs = docs_of(ARGV[1], ids, ARGV[2] == '1')
return failure or docs
