-- Publish: adds events that fire immediately or at a set time.
--
-- KEYS[1] root, KEYS[2] none: see partition.lua
-- ARGV[1] generation  the partition's, as in the map
-- ARGV[2] slot        of the client, which no other call uses at the same time; empty for an event that is published
--                     with other changes, which is not sent again and never refused because the queue is full
-- ARGV[3] number      of this call in its slot, which rises
-- ARGV[4] delivery    the id and the token of a delivery that ends with this step, as done; empty for none
-- ARGV[5…]            for each event: when it fires (+<us> from now on, =<us> since 1970), its head as in ASKED with
--                     its name behind it, and its body
-- Returns {now, first sequence}, then for each event that was not simply created {number from 1, 1 for a duplicate or 2
-- if it replaces another event, id}. If names are taken that must not be, nothing is done: returns {0}, then for each
-- of them {number from 1, id}. A name occurs once in a call. An event gets the first sequence plus its number minus 1.
-- errors WRONGTYPE, STALE, INCOMPATIBLE_VERSION, QUEUE_FULL, LEASE_LOST

-- Flags, what to do if the name is taken (0 an error, 1 do not add the event, 2 replace the other one), the part of the
-- key space, and in microseconds the time to live (0 for ever) and how long the name is remembered.
local ASKED = '>BBI2I8I8'
local ASKED_BYTES = 20

local slot, step = ARGV[2] ~= '' and ARGV[2], tonumber(ARGV[3])
local failure, reply = begin(slot, step)
if failure then return failure end
if reply then return reply end

local total = (#ARGV - 4) / 3
-- A follow-up event is never refused because the queue is full.
local done, done_token = string.sub(ARGV[4], 1, 12), string.sub(ARGV[4], 13)
local is_limited = done == '' and slot
local failure, stored
if is_limited and EVENTS_MAX > 0 then failure, stored = events_left() end
if failure then return failure end
if stored and stored + total > EVENTS_MAX then
  return redis.error_reply('QUEUE_FULL the partition holds ' .. stored .. ' events of at most ' .. number(EVENTS_MAX))
end
-- The time of the first event or tick that was not yet due at the last receive; read once. Or an error as the first
-- value.
local next_at
local function next_due()
  if next_at then return nil, next_at end
  local failure, at = first_of(SCHEDULED)
  if failure then return failure end
  local failure, tick = first_of(TICKS)
  next_at = math.min(at or math.huge, tick or math.huge)
  return failure, next_at
end

local first = math.max(SEQUENCE + 1, math.floor((NOW - SEQUENCE_BASE) / 16))
local soonest
local taken, names_added, forgotten = {0}, 0
reply = {NOW, first}

-- Handles the name that an event asks for; returns an error, and whether to add the event.
local function claim_name(i, name, if_taken)
  local failure, holder
  if not forgotten then failure, forgotten = use_names().forget(math.max(FORGOTTEN_MAX, 2 * total)) end
  if failure then return failure end
  failure, holder = use_names().holder(name, done)
  if failure then return failure end
  if holder and if_taken == 0 then
    taken[#taken + 1], taken[#taken + 2] = i, holder.id
    return nil, false
  end
  if holder and if_taken == 1 then
    reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = i, 1, holder.id
    return nil, false
  end
  use_names().given[name] = true
  if holder and holder.head then
    reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = i, 2, holder.id
    failure = not holder.is_leased and withdraw(holder.id, holder.head)
    if failure then return failure end
  end
  if not holder then names_added = names_added + 1 end
  gather('ZREM', FORGET, name)
  return nil, true
end

-- Events with equal arguments have the same beginning of their heads.
local asked_before, at_before, flags, if_taken, vslot, fire_at, start
for i = 1, total do
  local at, asked, body = ARGV[3 * i + 2], ARGV[3 * i + 3], ARGV[3 * i + 4]
  if asked ~= asked_before or at ~= at_before then
    asked_before, at_before = asked, at
    local ttl, window
    flags, if_taken, vslot, ttl, window = struct.unpack(ASKED, asked)
    fire_at = time_of(at)
    start = struct.pack('>I8I8I8I8', fire_at, NOW, ttl > 0 and fire_at + ttl or 0,
      flag(flags, NAMED) and NOW + window or 0) .. string.sub(asked, ASKED_BYTES + 1)
  end
  local failure, is_new = nil, true
  if flag(flags, NAMED) then failure, is_new = claim_name(i, string.sub(asked, ASKED_BYTES + 1), if_taken) end
  if failure then return failure end
  if is_new then
    local id = struct.pack('>I4I6I2', GENERATION, first + i - 1, vslot)
    local is_long = #body > SHORT_MAX
    if is_long then gather('HSET', BODIES, id, body) end
    local head = struct.pack('>BB', 1, is_long and flags + LONG or flags) .. start .. struct.pack('>I4', #body)
    gather('HSET', EVENTS, id, is_long and head or head .. body)
    if flag(flags, NAMED) then gather('HSET', NAMES, name_of(head), id) end
    local is_late = fire_at > NOW or FROZEN
    if not is_late and flag(flags, KEYED) then
      -- Due events that are not ready yet come first, so an event that is due joins them.
      local failure, due = next_due()
      if failure then return failure end
      is_late = due <= NOW
    end
    local is_ready = not is_late
    if is_late then
      gather('ZADD', SCHEDULED, number(fire_at), id)
      if not soonest or fire_at < soonest then soonest = fire_at end
    elseif flag(flags, KEYED) then
      failure, is_ready = use_lanes().enter(key_of(head), id)
      if failure then return failure end
    end
    if is_ready then make_ready(id, NOW) end
  end
end
if #taken > 1 then return taken end
if is_limited and names_added > 0 then
  local failure, names = read('HLEN', NAMES)
  if failure then return failure end
  names = names - forgotten
  if names + names_added > NAMES_MAX then
    return redis.error_reply('QUEUE_FULL the partition remembers ' .. names .. ' deduplication ids of at most ' ..
      number(NAMES_MAX))
  end
end

if done ~= '' then
  local failure, heads, states = records_of({done})
  if failure then return failure end
  local failure, leased_until = read('ZSCORE', LEASED, done)
  if failure then return failure end
  local failure, ended = settle(done, heads[1], states[1], leased_until, done_token, 'done')
  if failure then return failure end
  if ended ~= ENDED then
    return redis.error_reply('LEASE_LOST another consumer has the event, or its delivery has ended')
  end
end
gather('HSET', ROOT, 'sequence', number(first + total - 1))
if slot then remember(slot, step, reply) end
local failure, due
if soonest then failure, due = next_due() end
if failure then return failure end
local failure = commit(true)
if failure then return failure end
if soonest and soonest >= due then soonest = nil end
announce(soonest)
return reply
