-- The end of a step: the gathered writes are done, and waiting processes are notified.

-- Does the gathered writes, if there are any, and stores the time; an earlier time only after a receive has handled
-- that. If it returns an error, nothing has changed.
local function commit(grows)
  if lanes then lanes.gather() end
  if #writes == 0 then return end
  if not IS_SET_BACK then gather('HSET', ROOT, 'clock', number(NOW)) end
  local failure = write_all(not grows and ROOT)
  if failure then return failure end
  for i = 1, #removals, 2 do
    redis.call('LREM', removals[i], 1, removals[i + 1])
  end
  removals = {}
  -- A user may lack the right to this command: then the replies stay until the queue is used again.
  if begins_period then redis.pcall('PEXPIRE', OPS[1], OPS_KEPT) end
end

-- The score of the first entry of a zset, false if there is none; or an error as the first value.
local function first_of(key)
  local failure, first = read('ZRANGE', key, 0, 0, 'WITHSCORES')
  if failure then return failure end
  return nil, first[2] ~= nil and tonumber(first[2])
end

-- How many more events may be leased, and how many are; or an error as the first value.
local function leases_left()
  if CONCURRENCY == 0 then return nil, math.huge, 0 end
  local failure, leased = read('ZCARD', LEASED)
  if failure then return failure end
  return nil, math.max(0, CONCURRENCY - leased), leased
end

-- The tokens in the bucket.
local function tokens_in_bucket(now)
  return math.min(BUCKET, TOKENS + math.max(0, now - TOKENS_AT) * FLOW)
end

-- How many events the rate lets through, and when it lets the next one through.
local function rate_left(now)
  if FLOW == 0 then return math.huge, 0 end
  local tokens = tokens_in_bucket(now)
  return math.floor(tokens / TOKEN), now + math.ceil(math.max(0, TOKEN - tokens) / FLOW)
end

-- A waiting process checks again after five seconds anyway, so a later due time needs no announcement.
local ANNOUNCED_MAX = 6000000
-- How many waiting processes a step reads at a time, and how many it notifies of the next due time: the second in case
-- the first one is gone by then, and a little later.
local TOLD_MAX, ALARMED_MAX = 16, 2

-- Notifies waiting processes how many events they may receive: the number that became ready; or, if no more could be
-- leased when the step began, the number that may be leased now. A notified process counts as waiting again only after
-- it has checked. The first ones of the others are notified of the next due time. A process whose channel has no
-- listener is forgotten; a server of a cluster does not know that, as waiting processes may be connected to other
-- servers. If a user lacks the right to a channel, waiting processes find the events by themselves, only later. `took`
-- is the number of events that a receive took.
local function announce(alarm, took)
  if PAUSED then return end
  if (CONCURRENCY > 0 or FLOW > 0) and freed + unleased > 0 then
    local failure, room, leased = leases_left()
    if failure then return end
    local was_full = CONCURRENCY > 0 and leased + unleased - (took or 0) >= CONCURRENCY
    if was_full then failure, freed = read('ZCARD', READY) end
    if failure then return end
    local tokens, more_at = rate_left(NOW)
    if tokens == 0 and math.min(freed, room) > 0 then alarm = more_at end
    freed = math.min(freed, room, tokens)
  end
  local is_soon = alarm and alarm > NOW and alarm <= NOW + ANNOUNCED_MAX
  local alarmed = 0
  while freed > 0 or is_soon and alarmed == 0 do
    local failure, waiting = read('ZRANGE', WAITING, 0, TOLD_MAX - 1)
    if failure then return end
    local share = math.ceil(freed / math.max(1, #waiting))
    for _, process in ipairs(waiting) do
      local is_woken, message = freed > 0, share
      if not is_woken then
        if not is_soon or alarmed == ALARMED_MAX then return end
        message = '+' .. math.ceil((alarm - NOW) / 1000) + ALARM_APART_MS * alarmed
      end
      local heard = redis.pcall('PUBLISH', CHANNEL .. ':' .. process, message)
      if type(heard) ~= 'number' then return end
      local is_heard = heard > 0 or string.sub(process, 1, 1) == 'c'
      if is_woken or not is_heard then
        -- A server that has become a replica removes no entry, and would return the same processes again.
        local forgotten = redis.pcall('ZREM', WAITING, process)
        if type(forgotten) ~= 'number' then return end
      end
      if is_heard and is_woken then
        freed = freed - share
      elseif is_heard then
        alarmed = alarmed + 1
      end
    end
    if #waiting < TOLD_MAX then return end
  end
end
