-- Holds on to tasks and documents for longer: all of them, or none.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry
-- KEYS[7] none  KEYS[8] docs  KEYS[9] contents  KEYS[10] namespaces
-- ARGV[1] claimant
-- ARGV[2] lease_ms
-- ARGV[3] tasks     how many
-- ARGV[4…] for each task: id, version; for each document: namespace, id, version
-- returns {until when all are held, number from 1 of each task that was cancelled, …}
--   or {0, number from 1, 1 if another holds it and 0 if it is not there at that version, …}, the tasks before the
--   documents
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT, AGAIN
local CALLER, lease, count = ARGV[1], whole(ARGV[2], DELAY_MS_MAX), whole(ARGV[3], MODIFICATION_ENTRIES_MAX)
if not is_name(CALLER) then return invalid('there is no claimant') end
if not lease then return invalid('lease_ms is not a whole number up to 100 years') end
if not count then return invalid('the number of tasks is not a whole number up to ' .. MODIFICATION_ENTRIES_MAX) end
local docs_at = 4 + 2 * count
if docs_at > #ARGV + 1 or (#ARGV + 1 - docs_at) % 3 ~= 0 then
  return invalid('there are not as many strings as the entries need')
end

local ids, fields, versions, is_named = {}, {}, {}, {}
for i = 4, docs_at - 1, 2 do
  if not is_name(ARGV[i]) or is_named[ARGV[i]] then return invalid('a task has no id, or is named twice') end
  ids[#ids + 1], is_named[ARGV[i]] = ARGV[i], true
  versions[#versions + 1] = version_of(ARGV[i + 1])
  if #versions < #ids then return invalid('a version is not a whole number') end
end
is_named = {}
for i = docs_at, #ARGV, 3 do
  local namespace, id = ARGV[i], ARGV[i + 1]
  if not is_doc_name(namespace) or not is_doc_name(id) then return invalid('a document has no namespace or no id') end
  local field = doc_field(namespace, id)
  if is_named[field] then return invalid('a document is named twice') end
  fields[#fields + 1], is_named[field] = field, true
  versions[#versions + 1] = version_of(ARGV[i + 2])
  if #versions < count + #fields then return invalid('a version is not a whole number') end
end

local failure = begin()
if failure then return failure end
local failure, tasks = read_fields(STORE, ids)
if failure then return failure end
local failure, docs = read_fields(DOCS, fields)
if failure then return failure end
failure = unpack_tasks(ids, tasks) or unpack_docs(fields, docs)
if failure then return failure end

local at, problems = NOW + lease, {0}

-- The records at their versions; notes what is not there at its version, and else what another holds.
local function check_versions(records, before, version, at, claimant)
  for i = 1, #records do
    local record = records[i]
    local is_there = record and record[version] == versions[before + i]
    if not is_there or is_held(record[at], record[claimant], CALLER) then
      problems[#problems + 1] = before + i
      problems[#problems + 1] = is_there and 1 or 0
    end
  end
end
check_versions(tasks, 0, VERSION, AT, CLAIMANT)
check_versions(docs, count, DOC_VERSION, DOC_AT, DOC_CLAIMANT)
if #problems > 1 then return problems end

local held = {at}
for i, task in ipairs(tasks) do
  local listed = claims_list(task)
  task[VERSION], task[AT], task[MODIFIED] = task[VERSION] + 1, at, NOW
  task[CLAIMANT] = at > NOW and CALLER or ''
  if task[CANCELLED] == 1 then held[#held + 1] = i end
  if at <= NOW then end_claims(task) end
  put(ids[i], task, listed)
end
for i, doc in ipairs(docs) do
  local argument = docs_at + 3 * (i - 1)
  change_doc(ARGV[argument], ARGV[argument + 1], doc, at, CALLER)
end
failure = commit()
if failure then return failure end
announce_ready()
announce_soonest()
return held
