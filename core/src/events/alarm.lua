-- When somebody has to look again.

-- The first time at which a lease is over or a schedule ticks, or the time of an event comes unless the partition is
-- paused or no more may be leased; not before the rate lets an event through, and then if some are ready. Nothing for
-- never. Or first an error. Of some zsets the first time is known, false for never.
local function next_alarm(known, ready, has_room)
  local alarm
  for i, key in ipairs({LEASED, TICKS, SCHEDULED, RETRY}) do
    local failure, at = nil, known[key]
    if i > 2 and (PAUSED or not has_room) then break end
    if at == nil then failure, at = first_of(key) end
    if failure then return failure end
    if at and (not alarm or at < alarm) then alarm = at end
  end
  local tokens, more_at = rate_left(NOW)
  if PAUSED or tokens > 0 then return nil, alarm end
  if ready > 0 and has_room then return nil, more_at end
  return nil, alarm and math.max(alarm, more_at)
end
