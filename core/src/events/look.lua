-- For a step that reads what is there: checks its layout, and that it is not of a later generation than the caller
-- knows; nothing or 0 for any. Returns an error, and whether the partition is there.
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
