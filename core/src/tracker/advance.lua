-- Adds the ids of rows that were scanned, and moves the scan past these rows; changes nothing if another scan has moved
-- it.
--
-- KEYS[1] tracker  KEYS[2] ids
-- ARGV[1] after     the row after which these come, empty for the beginning
-- ARGV[2] row       the last one of them, empty if there is none
-- ARGV[3] is_last   1 if no other rows come after them, else 0
-- ARGV[4] round_us  how long a round lasts at least, in microseconds
-- ARGV[5…] ids      0 to IDS_MAX
-- returns {1 if the scan has moved past these rows else 0, how many ids are new}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
local after, row, is_last, round = ARGV[1], ARGV[2], ARGV[3], whole(ARGV[4], ROUND_US_MAX)
if not after or not row or #after > ROW_BYTES_MAX or #row > ROW_BYTES_MAX then
  return invalid('a row has more than ' .. ROW_BYTES_MAX .. ' bytes')
end
if is_last ~= '0' and is_last ~= '1' then return invalid('is_last is neither 0 nor 1') end
if not round then return invalid('round_us is not a whole number') end
if not are_ids(5, 0) then
  return invalid('there are more than ' .. IDS_MAX .. ' ids, or not of 1 to ' .. ID_BYTES_MAX .. ' bytes')
end
local ids = {unpack(ARGV, 5)}
local failure, tracker = read_tracker()
if failure then return failure end
if tracker.row ~= after then
  -- An earlier call whose reply was lost may have moved the scan.
  return {row ~= '' and tracker.row == row and 1 or 0, 0}
end

if row == '' then row = after end
if is_last == '1' and (NOW >= tracker.round_us + round or NOW < tracker.round_us) then
  row = ''
  keep('rounds', digits(tracker.rounds + 1))
  keep('round_us', digits(NOW))
end
if #ids > 0 then stamp_ids(tracker, ids) end
if row ~= after then keep('row', row) end
-- A server whose memory is full refuses rows with ids, which may be new.
failure = write_all(#ids == 0 and TRACKER)
if failure then return failure end
return {1, redis.call('ZCARD', IDS) - tracker.count}
