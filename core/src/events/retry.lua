-- When an event is tried again that failed, and whether it is.

-- Whether it is given up.
local function is_used_up(state)
  return MAX_ATTEMPTS > 0 and state.attempts >= MAX_ATTEMPTS or MAX_CRASHES > 0 and state.crashes >= MAX_CRASHES
end

-- Whether it is a suspect, which may be what ended the processes that had it: it was left twice, or the next time would
-- be the last. It is delivered alone, so that the next end says which one it was.
local function is_suspect(state)
  return state.crashes >= ((MAX_CRASHES == 1 or MAX_CRASHES == 2) and 1 or 2)
end

-- The chance that a step leaves delays to: the minimal standard generator, which doubles can do.
local chance

local function seed_with(seed)
  chance = seed % (CHANCE_MODULUS - 1) + 1
end

-- After how many microseconds an event is tried again that was delivered so often: up to twice as long each time.
local function backoff(attempts)
  local most = math.min(BACKOFF_MAX, BACKOFF_MIN * 2 ^ math.min(attempts - 1, 60))
  chance = chance * CHANCE_FACTOR % CHANCE_MODULUS
  return math.floor(most * chance / CHANCE_MODULUS)
end
