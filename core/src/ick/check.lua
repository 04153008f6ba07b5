-- What every step of an Ick does first.
--
-- KEYS[1] flag  string, ick.v1
-- KEYS[2] pset  sorted set: flagged, not reserved
-- KEYS[3] cset  sorted set: reserved, not committed
local FLAG, PSET, CSET = KEYS[1], KEYS[2], KEYS[3]
local VERSION = 'ick.v1'

-- Members or scores in one command, under Lua's limit on unpack (about 8,000).
local CHUNK = 7000

-- The error of a key that cannot be read: a clearer one if it has the wrong type.
local function wrong_type(key, expected, failure)
  if not string.find(failure.err, 'WRONGTYPE', 1, true) then return failure end
  local found = redis.call('TYPE', key).ok
  return redis.error_reply('WRONGTYPE key ' .. key .. ' holds a ' .. found .. ', expected a ' .. expected)
end

-- The sizes of both sets and whether there is a flag; or first an error, and nothing has changed.
local function check()
  local flag = redis.pcall('GET', FLAG)
  if type(flag) == 'table' then return wrong_type(FLAG, 'string, the version flag of an ick', flag) end
  if flag and flag ~= VERSION then
    return redis.error_reply('INCOMPATIBLE_VERSION unrecognized ick version ' .. string.sub(flag, 1, 32) ..
      ' in key ' .. FLAG .. ', expected ' .. VERSION)
  end
  local pset_size, cset_size = redis.pcall('ZCARD', PSET), redis.pcall('ZCARD', CSET)
  if type(pset_size) == 'table' then return wrong_type(PSET, 'sorted set, the producer set of an ick', pset_size) end
  if type(cset_size) == 'table' then return wrong_type(CSET, 'sorted set, the consumer set of an ick', cset_size) end
  if not flag and pset_size + cset_size > 0 then
    local set = pset_size > 0 and PSET or CSET
    return redis.error_reply('INCOMPATIBLE_VERSION key ' .. set .. ' holds a sorted set but key ' .. FLAG ..
      ' holds no version flag, expected ' .. VERSION)
  end
  return nil, flag, pset_size, cset_size
end

-- Any step that writes makes the Ick, last, so that a step that fails leaves no trace.
local function create(flag)
  if not flag then redis.call('SET', FLAG, VERSION) end
end
