-- Publish call: publishes an event together with other changes, in the partition that currently owns its part of the
-- key space.
--
-- All partitions are on one server, so the steps that a client does when the queue is not in the expected state are
-- done here, by the same scripts: the queue or the partition is created, a part of the key space that is in transit
-- leaves and arrives, and the event that has the name moves first.
--
-- KEYS[1] root of partition 0, KEYS[2] none: see partition.lua
-- ARGV[1] before      the roots of all other partitions before their number of four digits
-- ARGV[2] behind      and after it
-- ARGV[3] ranges      of the key space that the one partition of a new queue owns
-- ARGV[4] config      of a new queue, as in CONFIG
-- ARGV[5] vslot       the event's part of the key space
-- ARGV[6] name        the event's; empty if it has none
-- ARGV[7] at          when it fires, its head and its body, as in publish.lua
-- ARGV[8] head
-- ARGV[9] body
-- Returns the event's id as clients print it; for a duplicate that of the existing event.
-- errors WRONGTYPE, STALE while the queue is being deleted, INCOMPATIBLE_VERSION, CORRUPT

-- This publish must not be refused without the other changes of its transaction: a server whose memory is full lets a
-- script add data after a command that removes data, and a server that has become a replica refuses here.
local failure = read('HDEL', KEYS[1], '')
if failure then return failure end

local function root_of(number)
  return number == 0 and KEYS[1] or ARGV[1] .. string.format('%04d', number) .. ARGV[2]
end

local partitions = {}

-- Runs a step on a partition; returns an error, and the step's reply.
local function run(number, step, args)
  partitions[number] = partitions[number] or partition(root_of(number))
  local reply = partitions[number](step, args)
  if type(reply) == 'table' and reply.err then return reply end
  return nil, reply
end

local failure, queue = run(0, 'open', {'0', ARGV[3], '1', ARGV[4], '*:' .. ARGV[3]})
if failure then return failure end
local revision, config, map = unpack(queue)

local function damaged()
  return redis.error_reply("CORRUPT the map of the queue's partitions is damaged")
end

local owners, moving = {}, nil
for text in string.gmatch(map, '[^ ]+') do
  local from, to, ranges = string.match(text, '^(%d+)>(%d+):(.*)$')
  if from then
    moving = {from = tonumber(from), to = tonumber(to), ranges = ranges}
  else
    local generation, ranges = string.match(text, '^(%d+):(.*)$')
    if not generation then return damaged() end
    owners[#owners + 1] = {generation = generation, ranges = ranges}
  end
end
-- Each partition has a share of the limits of the queue.
local shares = math.max(#owners, (struct.unpack('>I2', string.sub(config, -2))))
config = string.sub(config, 1, -3) .. struct.pack('>I2', shares)

-- Removes a partition that is left over from an earlier queue of the name; returns an error.
local function delete_earlier(number)
  local cursor = '0'
  repeat
    local failure, deleted = run(number, 'delete', {owners[number + 1].generation - 1, cursor})
    if failure then return failure end
    cursor = deleted[1]
  until cursor == ''
end

local vslot = tonumber(ARGV[5])
local function has_vslot(ranges)
  for from, to in string.gmatch(ranges, '(%x+)-(%x+)') do
    if tonumber(from, 16) <= vslot and vslot <= tonumber(to, 16) then return true end
  end
end

local number
for i, owner in ipairs(owners) do
  if has_vslot(owner.ranges) then
    number = i - 1
    break
  end
end
if not number then return damaged() end
local owner = owners[number + 1]

-- The partitions of a move may not know of the move yet.
local left_at, tokens = 0, -1
local is_moving = moving and (number == moving.from or number == moving.to)
if is_moving then
  local from, to = owners[moving.from + 1], owners[moving.to + 1]
  local failure, left = run(moving.from, 'leave', {from.generation, from.ranges, moving.ranges})
  if failure then return failure end
  left_at, tokens = left[1], left[2]
  local before = moving.to == 0 and '0' or to.ranges == moving.ranges and '2' or '1'
  local arrival = {to.generation, to.ranges, string.format('%.0f', left_at), revision, config, before,
    string.format('%.0f', tokens)}
  failure = run(moving.to, 'arrive', arrival)
  if failure then failure = delete_earlier(moving.to) or run(moving.to, 'arrive', arrival) end
  if failure then return failure end
end

-- A partition is created when the first item belongs to it. One may be left over from an earlier queue of the name that
-- was used while it was deleted.
local failure, root = read('HMGET', root_of(number), 'version', 'generation')
if failure then return failure end
if number > 0 and not is_moving and not (root[1] and root[2] == owner.generation) then
  failure = delete_earlier(number) or run(number, 'open', {owner.generation, owner.ranges, revision, config, ''})
  if failure then return failure end
end

-- The event that has the name, or had it last, may be in transit.
if left_at > 0 and ARGV[6] ~= '' and has_vslot(moving.ranges) then
  local from, last, taken = owners[moving.from + 1], 0, 0
  while true do
    local failure, batch = run(moving.from, 'export', {from.generation, taken, '0', '=' .. ARGV[6]})
    if failure then return failure end
    if batch[1] == 0 or batch[2] == 1 then break end
    if batch[1] <= last then return redis.error_reply('STALE a batch is not taken') end
    last = batch[1]
    batch[1], batch[2] = owner.generation, last
    local failure, imported = run(number, 'import', batch)
    if failure then return failure end
    taken = imported[2]
  end
end

local failure, published = run(number, 'publish', {owner.generation, '', '', '', ARGV[7], ARGV[8], ARGV[9]})
if failure then return failure end
local id = published[4] == 1 and published[5] or struct.pack('>I4I6I2', owner.generation, published[2], vslot)

-- 96 bits and four zero bits make twenty digits.
local DIGITS = '0123456789abcdefghijklmnopqrstuv'
local text, bits, count = '', 0, 0
for i = 1, #id + 1 do
  bits, count = bits * 256 + (string.byte(id, i) or 0), count + 8
  while count >= 5 and #text < 20 do
    count = count - 5
    local digit = math.floor(bits / 2 ^ count)
    bits, text = bits % 2 ^ count, text .. string.sub(DIGITS, digit + 1, digit + 1)
  end
end
return text
