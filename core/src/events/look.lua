-- For a step that only reads: checks the layout of what is there, of whatever generation. Returns an error, and whether
-- the partition is there.
local function look()
  local failure, version = read('HGET', ROOT, 'version')
  if failure then return failure end
  if version and version ~= LAYOUT then return wrong_layout(ROOT, version, LAYOUT) end
  return nil, version ~= false
end
