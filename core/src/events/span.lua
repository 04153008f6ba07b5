-- The events in one state that the steps of a call process, page by page. Five arguments from ARGV[first] on select
-- them: the last time of the state; when the call began in this partition, 0 for now; the time and the id of the
-- position from which the step continues, an empty id to begin; the parts of the key space that they belong to, empty
-- for all.

-- Whether an id belongs to one of these parts of the key space.
local function is_in(bounds, id)
  local vslot = struct.unpack('>I2', id, 11)
  for i = 1, #bounds, 2 do
    if bounds[i] <= vslot and vslot <= bounds[i + 1] then return true end
  end
  return #bounds == 0
end

-- Examines up to `most` events. Returns an error; the ids of the chosen ones, and their times; when the call began; and
-- the time and the id of the last event examined if there are more. With `is_past`, events that entered the state since
-- the call began are skipped. A time later than now, apart from the microsecond by which a purge delays the events that
-- it frees, comes from a clock that was ahead.
local function span(key, first, most, is_past)
  local until_when, begun = tonumber(ARGV[first]), tonumber(ARGV[first + 1])
  if begun == 0 then begun = NOW end
  local bounds = {}
  for from, to in string.gmatch(ARGV[first + 4], '(%x+)-(%x+)') do
    bounds[#bounds + 1], bounds[#bounds + 2] = tonumber(from, 16), tonumber(to, 16)
  end
  local failure, entries = entries_behind(key, tonumber(ARGV[first + 2]), ARGV[first + 3], most + 1)
  if failure then return failure end
  local ids, times, last_at, last_id = {}, {}, nil, nil
  for i = 1, #entries, 2 do
    local id, at = entries[i], tonumber(entries[i + 1])
    if at > until_when then return nil, ids, times, begun end
    if i > 2 * most then return nil, ids, times, begun, last_at, last_id end
    if is_in(bounds, id) and not (is_past and begun < at and at <= NOW + 1) then
      ids[#ids + 1], times[#times + 1] = id, at
    end
    last_at, last_id = at, id
  end
  return nil, ids, times, begun
end
