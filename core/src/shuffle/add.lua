-- Putting messages into streams; for write and reclaim.

-- XADD with more strings than unpack can give: each call puts some more before those it was given.
local function add_long(key, a, first, last, ...)
  if last < first then return redis.call('XADD', key, '*', ...) end
  local i = last - 31
  return add_long(key, a, first, i - 1, a[i], a[i + 1], a[i + 2], a[i + 3], a[i + 4], a[i + 5], a[i + 6], a[i + 7],
    a[i + 8], a[i + 9], a[i + 10], a[i + 11], a[i + 12], a[i + 13], a[i + 14], a[i + 15], a[i + 16], a[i + 17],
    a[i + 18], a[i + 19], a[i + 20], a[i + 21], a[i + 22], a[i + 23], a[i + 24], a[i + 25], a[i + 26], a[i + 27],
    a[i + 28], a[i + 29], a[i + 30], a[i + 31], ...)
end

local call = redis.call

-- Puts a message of the fields and values strings[first] to strings[last] into a stream.
local function add_strings(key, strings, first, last)
  if last - first == 1 then return call('XADD', key, '*', strings[first], strings[last]) end
  if last - first < CHUNK then return call('XADD', key, '*', unpack(strings, first, last)) end
  local rest = (last - first + 1) % 32
  return add_long(key, strings, first, last - rest, unpack(strings, last - rest + 1, last))
end
