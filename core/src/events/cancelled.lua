-- The cancelled events that are remembered, for ten minutes, in the hashes of the replies of steps.

local cancelled
local function use_cancelled()
  if cancelled then return cancelled end
  cancelled = {}
  -- How many more entries the current hash may get in this step.
  local room

  -- Gathers the record that an event was cancelled, and whether its delivery was removed; returns an error.
  function cancelled.remember(id, is_taken)
    rotate()
    if not room then
      local failure, entries = read('HLEN', OPS[1])
      if failure then return failure end
      room = CANCELLED_MAX - entries
    end
    if room > 0 then gather('HSET', OPS[1], id, struct.pack('>I8B', NOW, is_taken and 1 or 0)) end
    room = room - 1
  end

  -- Whether an event was cancelled, and whether its delivery was removed; or an error as the first value.
  function cancelled.find(id)
    for i = 1, 2 do
      local failure, record = read('HGET', OPS[i], id)
      if failure then return failure end
      if record then
        local at, is_taken = struct.unpack('>I8B', record)
        if at > NOW - PERIOD then return nil, true, is_taken == 1 end
      end
    end
  end

  return cancelled
end
