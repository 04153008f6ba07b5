-- For a step that only reads: checks the layout, and that the generation is not later than `known`; nil or 0 for any.
-- Returns an error, and whether the partition exists.
local function look(known)
  local failure, root = read('HMGET', ROOT, 'version', 'generation')
  if failure then return failure end
  local version, generation = unpack(root)
  if version and version ~= LAYOUT then return wrong_layout(ROOT, version, LAYOUT) end
  if version and known and known ~= '0' and tonumber(generation) > tonumber(known) then
    return redis.error_reply('STALE the generation is ' .. generation)
  end
  return nil, version ~= false
end
