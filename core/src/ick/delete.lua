-- Removes the keys of an Ick, whatever they hold: the way out of a broken one.
--
-- KEYS[1] flag  KEYS[2] pset  KEYS[3] cset
-- ARGV[1] command  DEL, or UNLINK to free the memory in the background
-- ARGV[2] checked  1 refuses a broken Ick, as the gem redis-ick does; 0 removes it too
-- returns the number of keys removed
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT
if ARGV[1] ~= 'DEL' and ARGV[1] ~= 'UNLINK' then
  return redis.error_reply('INVALID_ARGUMENT command is neither DEL nor UNLINK')
end
if ARGV[2] == '1' then
  local failure = check()
  if failure then return failure end
end
return redis.call(ARGV[1], FLAG, PSET, CSET)
