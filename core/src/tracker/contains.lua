-- Reads whether ids are tracked.
--
-- KEYS[1] tracker  KEYS[2] ids
-- ARGV[1…] ids  1 to IDS_MAX
-- returns {for each id: 1 if it is tracked, else 0}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
if not are_ids(1, 1) then
  return invalid('there are not 1 to ' .. IDS_MAX .. ' ids of 1 to ' .. ID_BYTES_MAX .. ' bytes')
end
local failure, flags = read_each('ZMSCORE', IDS, ARGV)
if failure then return failure end
for i = 1, #ARGV do
  flags[i] = flags[i] and 1 or 0
end
return flags
