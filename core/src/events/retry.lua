-- Whether a failed event is retried, and when.

-- Whether the event becomes a dead letter.
local function is_used_up(state)
  return MAX_ATTEMPTS > 0 and state.attempts >= MAX_ATTEMPTS or MAX_CRASHES > 0 and state.crashes >= MAX_CRASHES
end

-- Whether the event is a suspect, which may have crashed the processes that held it: two leases expired, or the next
-- expiry would be the last. It is delivered alone, so that the next crash shows which event it was.
local function is_suspect(state)
  return state.crashes >= ((MAX_CRASHES == 1 or MAX_CRASHES == 2) and 1 or 2)
end

-- The random numbers for delays: the minimal standard generator, which can be computed with doubles.
local chance

local function seed_with(seed)
  chance = seed % (CHANCE_MODULUS - 1) + 1
end

-- After how many microseconds an event with this many deliveries is retried: up to twice as long each time.
local function backoff(attempts)
  local most = math.min(BACKOFF_MAX, BACKOFF_MIN * 2 ^ math.min(attempts - 1, 60))
  chance = chance * CHANCE_FACTOR % CHANCE_MODULUS
  return math.floor(most * chance / CHANCE_MODULUS)
end
