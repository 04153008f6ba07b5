-- Modifications, of which each is done or refused for itself, as one after the other: the ends of many jobs.
--
-- KEYS[1] store  KEYS[2] values  KEYS[3] meta  KEYS[4] queues  KEYS[5] levels  KEYS[6] expiry
-- KEYS[7] none  KEYS[8] docs  KEYS[9] contents  KEYS[10] namespaces
-- ARGV[1…] modifications one behind the other, see modification.lua
-- returns {what each does, or an error}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT, AGAIN
local modifications, at = {}, 1
while at <= #ARGV do
  local failure, modification
  failure, modification, at = parse(at)
  if failure then return failure end
  modifications[#modifications + 1] = modification
end

local failure, is_made = begin()
if failure then return failure end

-- Those that name nothing in common are read together and written together. After an error nothing is done to the
-- rest.
local replies, group, is_named = {}, {}, {}
local function finish_group()
  local first, done = #replies, {}
  failure = failure or read_stored(group)
  for i, modification in ipairs(group) do
    if not failure then failure, done[i] = modify(modification) end
  end
  if not failure then
    if not is_made and #writes > 0 then gather('HSET', META, 'version', LAYOUT) end
    is_made = is_made or #writes > 0
    settle_namespaces()
    namespaces = {}
    failure = commit()
  end
  for i in ipairs(group) do
    replies[first + i] = failure or done[i]
  end
  group, is_named = {}, {}
end

for _, modification in ipairs(modifications) do
  local names = {}
  for _, of_kind in ipairs({modification.ids, modification.fields}) do
    for _, name in ipairs(of_kind) do
      names[#names + 1] = name
    end
  end
  for _, name in ipairs(names) do
    if is_named[name] then
      finish_group()
      break
    end
  end
  for _, name in ipairs(names) do
    is_named[name] = true
  end
  group[#group + 1] = modification
end
finish_group()
announce_ready()
announce_soonest()
return replies
