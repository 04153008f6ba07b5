-- A modification: what its arguments say, whether it can be done, and what it does. Who does one begins before it
-- and commits after it.
--
-- Of each modification, one argument behind the other:
--   claimant
--   holder: who holds what is put off to a time in the future
--   how many there are of each kind: inserts, changes, deletes, depends, doc_inserts, doc_changes, doc_deletes,
--   doc_depends
--   inserts: id, queue, at, attempt, err, priority, ttl_ms or empty, dedup_window_ms, headers, has_value, value, skips
--   changes: id, version, queue, at, attempt, err, sets_headers (0 keeps them), headers, has_value, value
--   deletes and depends: id, version
--   doc_inserts: namespace, id, key, secondary key, has_content, content, collision
--   doc_changes: namespace, id, version, at or empty to keep it, has_content (0 keeps it), content
--   doc_deletes and doc_depends: namespace, id, version
--   where at is +<ms> from now on or =<ms> since the Unix epoch; headers are as in a record, empty for none;
--   has_value, has_content, sets_headers and skips (leave it out if the id is taken) are 0 or 1; collision says what to do if the id is taken: 0 to refuse, 1 to leave
--   it out, 2 to replace the content of the document, which has to have the same keys
-- It returns {1, now, {1 or, if it was skipped, 0 for each insert},
--   {created, claims, priority, expires, headers for each change},
--   {1 or, if it was skipped, 0 or, if it was replaced, 2, version, at, created for each doc_insert},
--   {ten elements for each doc_change}},
--   or {0, fault, index from 0, version of what is there with the id that is taken else 0, …}; the faults are those of
--   Fault in dependency.rs

-- The kinds of entries in their order: what each has, by the names of its fields.
local TASK, DOC = {'id', 'version'}, {'namespace', 'id', 'version'}
local KINDS = {
  {'id', 'queue', 'at', 'attempt', 'err', 'priority', 'expires', 'dedup_window', 'headers', 'has_value', 'value',
    'skips'},
  {'id', 'version', 'queue', 'at', 'attempt', 'err', 'sets_headers', 'headers', 'has_value', 'value'},
  TASK, TASK,
  {'namespace', 'id', 'key', 'secondary_key', 'has_value', 'value', 'collision'},
  {'namespace', 'id', 'version', 'at', 'has_value', 'value'},
  DOC, DOC,
}
local FLAGS = {['0'] = false, ['1'] = true}
local REFUSE, SKIP, REPLACE = 0, 1, 2

-- What the text of a field means, nil if it means nothing.
local MEANINGS = {
  id = function(text) return is_doc_name(text) and text or nil end,
  namespace = function(text) return is_doc_name(text) and text or nil end,
  queue = function(text) return is_name(text) and text or nil end,
  version = version_of,
  at = time_of,
  attempt = function(text) return whole(text, 2 ^ 32 - 1) end,
  priority = function(text) return whole(text, PRIORITY_MAX) end,
  expires = function(text)
    if text == '' then return 0 end
    local ttl = whole(text, DELAY_MS_MAX)
    return ttl and ttl > 0 and NOW + ttl or nil
  end,
  dedup_window = function(text) return whole(text, DEDUP_WINDOW_MS_MAX) end,
  sets_headers = function(text) return FLAGS[text] end,
  has_value = function(text) return FLAGS[text] end,
  skips = function(text) return FLAGS[text] end,
  collision = function(text) return whole(text, REPLACE) end,
  key = function(text) return not string.find(text, '\0', 1, true) and text or nil end,
  secondary_key = function(text) return not string.find(text, '\0', 1, true) and text or nil end,
}

-- The modification that the arguments say from this one on, and where the next begins; or first an error.
local function parse(at)
  local modification = {caller = ARGV[at], holder = ARGV[at + 1], ids = {}, fields = {}}
  if not is_name(modification.caller) or not is_name(modification.holder) then
    return invalid('there is no claimant')
  end
  local counts, is_named = {}, {}
  for kind = 1, #KINDS do
    counts[kind] = whole(ARGV[at + 1 + kind], MODIFICATION_ENTRIES_MAX)
    if not counts[kind] then
      return invalid('a number of entries is not a whole number up to ' .. MODIFICATION_ENTRIES_MAX)
    end
  end
  at = at + 2 + #KINDS
  for kind, names in ipairs(KINDS) do
    if at - 1 + counts[kind] * #names > #ARGV then return invalid('there are fewer entries than it says') end
    local of_kind = {}
    for i = 1, counts[kind] do
      local entry = {}
      for j, name in ipairs(names) do
        local text = ARGV[at + j - 1]
        local meaning = text
        -- An empty time of a document's change keeps the time.
        if MEANINGS[name] and not (kind == 6 and name == 'at' and text == '') then
          meaning = MEANINGS[name](text)
          if meaning == nil then return invalid('an entry has no valid ' .. name) end
        end
        entry[name] = meaning
      end
      at = at + #names
      local named = kind <= 4 and modification.ids or modification.fields
      local name = kind <= 4 and entry.id or doc_field(entry.namespace, entry.id)
      if is_named[named] == nil then is_named[named] = {} end
      if is_named[named][name] then return invalid('a task or document is named twice') end
      is_named[named][name] = true
      named[#named + 1], of_kind[i] = name, entry
    end
    modification[kind] = of_kind
  end
  return nil, modification, at
end

-- Reads which ids are taken of the tasks that some modifications insert: those that are there, and those of tasks that
-- have ended within their deduplication windows; returns an error.
local function read_taken(modifications)
  local ended, ids = {}, {}
  for _, modification in ipairs(modifications) do
    for _, entry in ipairs(modification[1]) do
      entry.is_taken = entry.stored and true
      if not entry.stored then ended[#ended + 1], ids[#ids + 1] = entry, entry.id end
    end
  end
  if #ids == 0 then return end
  local failure, untils = read_each('ZMSCORE', TAKEN, ids)
  if failure then return failure end
  for i, entry in ipairs(ended) do
    entry.is_taken = untils[i] and tonumber(untils[i]) > NOW
  end
end

-- Reads what is there of each entry of some modifications; returns an error.
local function read_stored(modifications)
  local tasks, docs, ids, fields = {}, {}, {}, {}
  for _, modification in ipairs(modifications) do
    for kind, of_kind in ipairs(modification) do
      local entries = kind <= 4 and tasks or docs
      for _, entry in ipairs(of_kind) do
        entries[#entries + 1] = entry
      end
    end
    for _, id in ipairs(modification.ids) do
      ids[#ids + 1] = id
    end
    for _, field in ipairs(modification.fields) do
      fields[#fields + 1] = field
    end
  end
  for _, part in ipairs({{STORE, ids, tasks, unpack_tasks}, {DOCS, fields, docs, unpack_docs}}) do
    local failure, records = read_fields(part[1], part[2])
    failure = failure or part[4](part[2], records)
    if failure then return failure end
    for i, entry in ipairs(part[3]) do
      entry.stored = records[i]
    end
  end
  return read_taken(modifications)
end

local function fault(problems, number, i, version)
  local n = #problems
  problems[n + 1], problems[n + 2], problems[n + 3] = number, i - 1, version or 0
end

-- Notes the ids of tasks that are taken, unless those are skipped.
local function check_inserts(problems, inserts)
  for i, entry in ipairs(inserts) do
    if entry.is_taken and not entry.skips then fault(problems, 1, i, entry.stored and entry.stored[VERSION]) end
  end
end

-- Notes the ids of documents that are taken, unless those are skipped, and what is to be replaced but has other
-- keys or is held by another.
local function check_doc_inserts(problems, doc_inserts, caller)
  for i, entry in ipairs(doc_inserts) do
    local doc = entry.stored
    if doc and entry.collision ~= SKIP then
      local is_same = doc[DOC_KEY] == entry.key and doc[DOC_SECONDARY_KEY] == entry.secondary_key
      if entry.collision == REFUSE or not is_same then
        fault(problems, 7, i, doc[DOC_VERSION])
      elseif is_held(doc[DOC_AT], doc[DOC_CLAIMANT], caller) then
        fault(problems, 13, i, doc[DOC_VERSION])
      end
    end
  end
end

-- Notes what is not there at its version, and else, if there is a number for it, what another holds.
local function check_versions(problems, of_kind, number, caller, held_number, version, at, claimant)
  for i, entry in ipairs(of_kind) do
    local record = entry.stored
    if not record or record[version] ~= entry.version then
      fault(problems, number, i)
    elseif held_number and is_held(record[at], record[claimant], caller) then
      fault(problems, held_number, i)
    end
  end
end

-- Gathers what a modification does whose entries were read; returns an error, or else its reply.
local function modify(modification)
  local caller, holder = modification.caller, modification.holder
  local inserts, changes, deletes, depends, doc_inserts, doc_changes, doc_deletes, doc_depends = unpack(modification)
  local failure
  local problems = {0}
  check_inserts(problems, inserts)
  check_versions(problems, deletes, 3, caller, 5, VERSION, AT, CLAIMANT)
  check_versions(problems, changes, 2, caller, 6, VERSION, AT, CLAIMANT)
  check_versions(problems, depends, 4, caller, nil, VERSION)
  check_doc_inserts(problems, doc_inserts, caller)
  check_versions(problems, doc_deletes, 9, caller, 11, DOC_VERSION, DOC_AT, DOC_CLAIMANT)
  check_versions(problems, doc_changes, 8, caller, 12, DOC_VERSION, DOC_AT, DOC_CLAIMANT)
  check_versions(problems, doc_depends, 10, caller, nil, DOC_VERSION)
  if #problems > 1 then return nil, problems end

  for _, entry in ipairs(deletes) do
    failure = remove(entry.id, entry.stored)
    if failure then return failure end
  end

  local changed = {}
  for _, entry in ipairs(changes) do
    local task, is_moved = entry.stored, entry.stored[QUEUE] ~= entry.queue
    if is_moved then
      failure = leave(entry.id, task)
      if failure then return failure end
    end
    local listed = not is_moved and claims_list(task) or nil
    task[QUEUE], task[VERSION], task[AT], task[MODIFIED] = entry.queue, task[VERSION] + 1, entry.at, NOW
    task[CLAIMANT], task[ATTEMPT], task[ERR] = entry.at > NOW and holder or '', entry.attempt, entry.err
    end_claims(task)
    if entry.sets_headers then set_headers(task, entry.headers) end
    if is_moved then
      failure = enter(entry.id, task)
      if failure then return failure end
    else
      put(entry.id, task, listed)
    end
    if entry.has_value then gather('HSET', VALUES, entry.id, entry.value) else gather('HDEL', VALUES, entry.id) end
    local n = #changed
    changed[n + 1], changed[n + 2] = task[CREATED], task[CLAIMS]
    changed[n + 3], changed[n + 4], changed[n + 5] = task[PRIORITY], task[EXPIRES], task[HEADERS] or ''
  end

  local inserted = {}
  for i, entry in ipairs(inserts) do
    inserted[i] = entry.is_taken and 0 or 1
    if not entry.is_taken then
      local task = {entry.queue, 0, entry.at, NOW, NOW, holder,
        0, entry.attempt, entry.err, entry.priority, entry.expires}
      set_headers(task, entry.headers)
      task[DEDUP_WINDOW] = entry.dedup_window > 0 and entry.dedup_window or nil
      failure = enter(entry.id, task)
      if failure then return failure end
      if entry.has_value then gather('HSET', VALUES, entry.id, entry.value) end
      if entry.expires > 0 then gather('ZADD', EXPIRY, entry.expires, entry.id) end
    end
  end

  for _, entry in ipairs(doc_deletes) do
    failure = remove_doc(entry.namespace, entry.id, entry.stored)
    if failure then return failure end
  end

  local kept, changed_docs = {}, {}
  for i, entry in ipairs(doc_changes) do
    kept[i] = doc_field(entry.namespace, entry.id)
  end
  local failure, contents = read_fields(CONTENTS, kept)
  if failure then return failure end
  for i, entry in ipairs(doc_changes) do
    local at = entry.at ~= '' and entry.at or entry.stored[DOC_AT]
    change_doc(entry.namespace, entry.id, entry.stored, at, holder)
    if entry.has_value then gather('HSET', CONTENTS, kept[i], entry.value) end
    push_doc(changed_docs, entry.namespace, entry.id, entry.stored, entry.has_value and entry.value or contents[i])
  end

  local inserted_docs = {}
  for _, entry in ipairs(doc_inserts) do
    local doc, n = entry.stored, #inserted_docs
    if not doc then
      failure = enter_doc(entry.namespace, entry.id, {entry.key, entry.secondary_key, 0, 0, '', NOW, NOW})
      if failure then return failure end
      inserted_docs[n + 1] = 1
    elseif entry.collision == REPLACE then
      change_doc(entry.namespace, entry.id, doc, doc[DOC_AT], holder)
      inserted_docs[n + 1], inserted_docs[n + 2] = 2, doc[DOC_VERSION]
      inserted_docs[n + 3], inserted_docs[n + 4] = doc[DOC_AT], doc[DOC_CREATED]
    else
      inserted_docs[n + 1] = 0
    end
    if entry.has_value and inserted_docs[n + 1] > 0 then
      gather('HSET', CONTENTS, doc_field(entry.namespace, entry.id), entry.value)
    end
  end
  return nil, {1, NOW, inserted, changed, inserted_docs, changed_docs}
end
