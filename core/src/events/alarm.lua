-- When a waiting process has to check again.

-- The first time at which a lease expires or a schedule ticks, or an event is due, unless the partition is paused or at
-- its limit of leases; but not before the rate lets an event through, and at that time if events are ready. Nil for
-- never. Or an error as the first value. `known` has the first times of some zsets, false for never.
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
