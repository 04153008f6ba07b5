-- What is wrong with a partition of events: all that is kept beside the heads of its events follows from them.
--
-- KEYS[1] the partition's root
-- Returns a line for each thing that is wrong.

local root = KEYS[1]
local problems = {}

local function check(is_right, ...)
  if not is_right then problems[#problems + 1] = table.concat({...}, ' ') end
end

local function hash_of(key)
  local flat, hash = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do hash[flat[i]] = flat[i + 1] end
  return hash
end

local function hex(bytes)
  return (string.gsub(bytes, '.', function(byte) return string.format('%02x', string.byte(byte)) end))
end

local function flag(head, one)
  return string.byte(head, 2) % (2 * one) >= one
end

local KEYED, LONG = 1, 4

local function name_of(head)
  local length = struct.unpack('>I2', head, 35)
  local id_length = string.byte(head, 37 + length)
  return string.sub(head, 35, 37 + length + id_length), string.sub(head, 37, 36 + length)
end

local heads = hash_of(root .. ':events')
local bodies = hash_of(root .. ':bodies')
local states = hash_of(root .. ':state:default')
local lanes = hash_of(root .. ':lanes:default')
local names = hash_of(root .. ':names')
local phases = {}

local function enter(id, phase)
  check(heads[id], hex(id), 'is', phase, 'and is no event')
  check(not phases[id], hex(id), 'is', phase, 'and', phases[id] or '')
  phases[id] = phase
end

for phase, key in pairs({scheduled = ':scheduled', ready = ':ready:default', leased = ':leased:default',
    retry = ':retry:default', dead = ':dead:default', done = ':done:default'}) do
  for _, id in ipairs(redis.call('ZRANGE', root .. key, 0, -1)) do enter(id, phase) end
end
for key, first in pairs(lanes) do
  check(heads[first] and select(2, name_of(heads[first])) == key, 'the first of', key, 'is', hex(first))
  for _, id in ipairs(redis.call('LRANGE', root .. ':lane:default:' .. key, 0, -1)) do
    -- What was cancelled in a long lane stays there without a head.
    if heads[id] then
      enter(id, 'behind')
      check(select(2, name_of(heads[id])) == key, hex(id), 'is behind', key)
    end
  end
end
for _, key in ipairs(redis.call('KEYS', '*')) do
  local _, last = string.find(key, root .. ':lane:default:', 1, true)
  check(not last or lanes[string.sub(key, last + 1)], key, 'has no first')
end
for id, head in pairs(heads) do
  local phase = phases[id]
  local _, key = name_of(head)
  local is_open = phase == 'ready' or phase == 'leased' or phase == 'retry'
  check(phase, hex(id), 'is nowhere')
  check(not flag(head, KEYED) or is_open == (lanes[key] == id), hex(id), 'is', phase, 'and first of', key)
  check(flag(head, LONG) == (bodies[id] ~= nil), hex(id), 'has no body, or one too many')
  check(states[id] or phase ~= 'leased' and phase ~= 'retry' and phase ~= 'dead' and phase ~= 'done', hex(id), 'has no state')
end
for id in pairs(bodies) do check(heads[id], hex(id), 'has a body and is no event') end
for id in pairs(states) do check(heads[id], hex(id), 'has a state and is no event') end
for name, id in pairs(names) do
  local forgotten = redis.call('ZSCORE', root .. ':forget', name)
  local is_had = heads[id] and name_of(heads[id]) == name
  check(forgotten or is_had, 'the name', hex(name), 'is of nobody and never forgotten')
end
for _, name in ipairs(redis.call('ZRANGE', root .. ':forget', 0, -1)) do
  check(names[name], 'the name', hex(name), 'is to be forgotten and is not there')
end
local schedules, templates = hash_of(root .. ':schedules'), hash_of(root .. ':templates')
local looks = redis.call('ZRANGE', root .. ':ticks', 0, -1, 'WITHSCORES')
local look_of = {}
for i = 1, #looks, 2 do
  check(schedules[looks[i]], 'the schedule', looks[i], 'ticks and is not there')
  look_of[looks[i]] = tonumber(looks[i + 1])
end
for id, schedule in pairs(schedules) do
  check(templates[id], 'the schedule', id, 'has no template')
  -- Which ticks have fired stands in front of those that come.
  local ticks = string.byte(schedule, 2) % 32 >= 16 and 69 or 53
  local first = #schedule >= ticks and struct.unpack('>I8', schedule, ticks)
  check((look_of[id] ~= nil) == (first ~= false), 'the schedule', id, 'has ticks, or none, and is looked at otherwise')
  check(not first or look_of[id] >= first, 'the schedule', id, 'is looked at before it ticks')
end
check(not redis.call('HGET', root, 'missed'), 'batches of a reshard are missing')
for i = 0, 1 do
  local ops = root .. ':ops:' .. i
  check(redis.call('PTTL', ops) ~= -1, ops, 'does not expire')
end
for id in pairs(templates) do check(schedules[id], 'the template', id, 'is of no schedule') end
return problems
