-- Leases all documents of some primary keys, or none if another claimant holds one of them.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry
-- KEYS[7] none  KEYS[8] docs  KEYS[9] contents  KEYS[10] namespaces
-- ARGV[1] claimant
-- ARGV[2] namespace
-- ARGV[3] lease_ms
-- ARGV[4…] keys
-- returns {1, {ten elements for each document, of each key by secondary key}},
--   or {0, {id, version, …}} of those that another holds
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT, AGAIN
local CALLER, namespace, lease = ARGV[1], ARGV[2], whole(ARGV[3], DELAY_MS_MAX)
if not is_name(CALLER) then return invalid('there is no claimant') end
if not is_doc_name(namespace) then return invalid('there is no namespace') end
if not lease then return invalid('lease_ms is not a whole number up to 100 years') end
if #ARGV < 4 or #ARGV > CLAIM_KEYS_MAX + 3 then return invalid('there are not 1 to ' .. CLAIM_KEYS_MAX .. ' keys') end
local is_named = {}
for i = 4, #ARGV do
  if not is_doc_name(ARGV[i]) or is_named[ARGV[i]] then return invalid('a key is empty, or is named twice') end
  is_named[ARGV[i]] = true
end

local failure = check()
if failure then return failure end
local ids, fields = {}, {}
for i = 4, #ARGV do
  local failure, members = read('ZRANGEBYLEX', keys_key(namespace), '[' .. ARGV[i] .. '\0', '(' .. ARGV[i] .. '\1')
  if failure then return failure end
  for _, member in ipairs(members) do
    ids[#ids + 1] = select(3, split(member))
    fields[#ids] = doc_field(namespace, ids[#ids])
  end
end
local failure, docs = read_fields(DOCS, fields)
if failure then return failure end
failure = unpack_docs(fields, docs)
if failure then return failure end
local failure, contents = read_fields(CONTENTS, fields)
if failure then return failure end

local held = {}
for i, id in ipairs(ids) do
  local doc = docs[i]
  if not doc then
    return redis.error_reply('WRONGTYPE key ' .. DOCS .. ' holds no record of a document that is in a namespace')
  end
  if is_held(doc[DOC_AT], doc[DOC_CLAIMANT], CALLER) then
    held[#held + 1] = id
    held[#held + 1] = doc[DOC_VERSION]
  end
end
if #held > 0 then return {0, held} end

local reply = {}
for i, id in ipairs(ids) do
  local doc = docs[i]
  doc[DOC_VERSION], doc[DOC_AT], doc[DOC_CLAIMANT], doc[DOC_MODIFIED] = doc[DOC_VERSION] + 1, NOW + lease, CALLER, NOW
  put_doc(namespace, id, doc)
  push_doc(reply, namespace, id, doc, contents[i])
end
failure = commit()
if failure then return failure end
return {1, reply}
