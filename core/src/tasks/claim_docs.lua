-- Leases all documents of a primary key, or none if another claimant holds one of them.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry
-- KEYS[7] none  KEYS[8] docs  KEYS[9] contents  KEYS[10] namespaces
-- ARGV[1] claimant
-- ARGV[2] namespace
-- ARGV[3] key
-- ARGV[4] lease_ms
-- returns {1, {ten elements for each document, by secondary key}},
--   or {0, {id, version, …}} of those that another holds
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT, AGAIN
local CALLER, namespace, key, lease = ARGV[1], ARGV[2], ARGV[3], whole(ARGV[4], DELAY_MS_MAX)
if not is_name(CALLER) then return invalid('there is no claimant') end
if not is_doc_name(namespace) or not is_doc_name(key) then return invalid('there is no namespace or no key') end
if not lease then return invalid('lease_ms is not a whole number up to 100 years') end

local failure = check()
if failure then return failure end
local failure, members = read('ZRANGEBYLEX', keys_key(namespace), '[' .. key .. '\0', '(' .. key .. '\1')
if failure then return failure end
local ids, fields = {}, {}
for i, member in ipairs(members) do
  ids[i] = select(3, split(member))
  fields[i] = doc_field(namespace, ids[i])
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
