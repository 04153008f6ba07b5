-- The keys of a store's documents and what they hold; for the steps that have to do with documents.
-- Names, ids and keys hold no NUL, which keeps them apart where several make one.
--
-- KEYS[8] docs         hash: namespace NUL id -> record
-- KEYS[9] contents     hash: namespace NUL id -> content; no field for no content
-- KEYS[10] namespaces  zset of scores 0: the namespaces that hold documents
local DOCS, CONTENTS, NAMESPACES = unpack(KEYS, 8, 10)

-- The elements of a document's record; AT is 0 for one that was never held.
local DOC_KEY, DOC_SECONDARY_KEY, DOC_VERSION, DOC_AT, DOC_CLAIMANT, DOC_CREATED, DOC_MODIFIED = 1, 2, 3, 4, 5, 6, 7

local DOC_KINDS = {'string', 'string', 'number', 'number', 'string', 'number', 'number'}

-- The records of documents in place of what is stored of them, false for those that are not there; returns an error.
local function unpack_docs(fields, records)
  for i, field in ipairs(fields) do
    records[i] = records[i] and unpack_record(records[i], DOC_KINDS)
    if records[i] == nil then
      local namespace, id = string.match(field, '^(%Z*)%z(.*)$')
      return corrupt('a document of the namespace ' .. namespace .. ' in ' .. DOCS .. ',', id)
    end
  end
end

-- zset of scores 0: key NUL secondary key NUL id, so that the order of bytes is that of the documents.
local function keys_key(namespace)
  return STORE .. ':keys:' .. namespace
end

-- zset: id -> at, of the documents that have a claimant.
local function held_key(namespace)
  return STORE .. ':held:' .. namespace
end

local function doc_field(namespace, id)
  return namespace .. '\0' .. id
end

local function is_doc_name(text)
  return is_name(text) and not string.find(text, '\0', 1, true)
end

local function keys_member(id, doc)
  return doc[DOC_KEY] .. '\0' .. doc[DOC_SECONDARY_KEY] .. '\0' .. id
end

-- The key, the secondary key and the id in a member.
local function split(member)
  return string.match(member, '^(%Z*)%z(%Z*)%z(.*)$')
end

-- How many documents each namespace had and has, of those whose documents come or go.
local namespaces = {}

-- Gathers what makes a namespace one document larger or smaller; returns an error.
local function count_doc(namespace, change)
  local sizes = namespaces[namespace]
  if not sizes then
    local failure, size = read('ZCARD', keys_key(namespace))
    if failure then return failure end
    sizes = {before = size, after = size}
    namespaces[namespace] = sizes
  end
  sizes.after = sizes.after + change
end

-- Gathers what a document's record becomes.
local function put_doc(namespace, id, doc)
  gather('HSET', DOCS, doc_field(namespace, id), cmsgpack.pack(doc))
  if doc[DOC_CLAIMANT] ~= '' then gather('ZADD', held_key(namespace), doc[DOC_AT], id) end
end

-- Gathers what makes a document another version of itself, held until a time if that is to come.
local function change_doc(namespace, id, doc, at, claimant)
  local was_held = doc[DOC_CLAIMANT] ~= ''
  doc[DOC_VERSION], doc[DOC_AT], doc[DOC_MODIFIED] = doc[DOC_VERSION] + 1, at, NOW
  doc[DOC_CLAIMANT] = at > NOW and claimant or ''
  if was_held and doc[DOC_CLAIMANT] == '' then gather('ZREM', held_key(namespace), id) end
  put_doc(namespace, id, doc)
end

-- Gathers what puts a new document into its namespace; returns an error.
local function enter_doc(namespace, id, doc)
  gather('ZADD', keys_key(namespace), 0, keys_member(id, doc))
  put_doc(namespace, id, doc)
  return count_doc(namespace, 1)
end

-- Gathers what takes a document out of the store; returns an error.
local function remove_doc(namespace, id, doc)
  local field = doc_field(namespace, id)
  gather('HDEL', DOCS, field)
  gather('HDEL', CONTENTS, field)
  gather('ZREM', keys_key(namespace), keys_member(id, doc))
  if doc[DOC_CLAIMANT] ~= '' then gather('ZREM', held_key(namespace), id) end
  return count_doc(namespace, -1)
end

-- Gathers what becomes of the names of namespaces; to be called before the commit.
local function settle_namespaces()
  for name, sizes in pairs(namespaces) do
    if sizes.after == 0 and sizes.before > 0 then gather('ZREM', NAMESPACES, name) end
    if sizes.after > 0 and sizes.before == 0 then gather('ZADD', NAMESPACES, 0, name) end
  end
end

-- Appends a document as it is returned, in ten elements.
local function push_doc(reply, namespace, id, doc, content)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = namespace, id, doc[DOC_VERSION]
  reply[n + 4], reply[n + 5], reply[n + 6] = doc[DOC_KEY], doc[DOC_SECONDARY_KEY], content
  reply[n + 7], reply[n + 8] = doc[DOC_AT], doc[DOC_CLAIMANT]
  reply[n + 9], reply[n + 10] = doc[DOC_CREATED], doc[DOC_MODIFIED]
end

-- The documents of some ids of a namespace, as they are returned, without those that are not there;
-- or first an error.
local function docs_of(namespace, ids, omits_contents)
  local fields, reply, contents = {}, {}, {}
  for i, id in ipairs(ids) do
    fields[i] = doc_field(namespace, id)
  end
  local failure, records = read_fields(DOCS, fields)
  if failure then return failure end
  failure = unpack_docs(fields, records)
  if failure then return failure end
  if not omits_contents then
    failure, contents = read_fields(CONTENTS, fields)
    if failure then return failure end
  end
  for i, id in ipairs(ids) do
    if records[i] then push_doc(reply, namespace, id, records[i], contents[i] or false) end
  end
  return nil, reply
end
