-- Removes the keys of an Ick, whatever they hold: the way out of a broken one.
--
-- KEYS[1] flag  KEYS[2] pset  KEYS[3] cset
-- ARGV[1] command  DEL, or UNLINK to free the memory in the background
-- returns the number of keys removed
-- errors INVALID_ARGUMENT
if ARGV[1] ~= 'DEL' and ARGV[1] ~= 'UNLINK' then
  return redis.error_reply('INVALID_ARGUMENT command is neither DEL nor UNLINK')
end
return redis.call(ARGV[1], KEYS[1], KEYS[2], KEYS[3])
