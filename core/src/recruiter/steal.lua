-- The jobs of a recruiter: shared by all its steps.
--
-- KEYS[1] steal  hash: version -> the layout's; all -> {last fence, latest time seen, next ask}; j:<job> -> {next token,
--   last grant, how often its rate is halved, next ask}; by cmsgpack, times in microseconds
-- KEYS[2] stats  hash: <job>:<counter> -> how many; :<reason> -> how many enlistments
local STEAL, STATS = KEYS[1], KEYS[2]
local LAYOUT = 'steal.v1'

-- A whole number that may have a sign.
local function signed(text)
  local value = whole(string.match(text or '', '^%-?(.*)$'), INTEGER_MAX)
  return value and string.sub(text, 1, 1) == '-' and -value or value
end

local time = redis.call('TIME')
local CLOCK = time[1] * 1000000 + time[2]

-- A record of `count` numbers, nothing if there is none; or an error as the first value.
local function unpack_numbers(field, packed, count)
  if not packed then return end
  local is_packed, numbers = pcall(cmsgpack.unpack, packed)
  local is_sound = is_packed and type(numbers) == 'table' and #numbers == count
  for i = 1, is_sound and count or 0 do
    is_sound = is_sound and type(numbers[i]) == 'number'
  end
  if not is_sound then return redis.error_reply('CORRUPT the field ' .. field .. ' of key ' .. STEAL .. ' cannot be read') end
  return nil, numbers
end

-- The state of all jobs together, and of each of these jobs, false for an unknown one; or an error as the first value.
-- A job that is named twice has one table.
local function read_jobs(ids)
  local fields = {'version', 'all'}
  for i, id in ipairs(ids) do
    fields[i + 2] = 'j:' .. id
  end
  local failure, values = read_fields(STEAL, fields)
  if failure then return failure end
  if values[1] and values[1] ~= LAYOUT then return wrong_layout(STEAL, values[1], LAYOUT) end
  local failure, all = unpack_numbers('all', values[2], 3)
  if failure then return failure end
  local jobs, by_id = {}, {}
  for i, id in ipairs(ids) do
    local failure, numbers = unpack_numbers(fields[i + 2], values[i + 2], 4)
    if failure then return failure end
    if numbers and not by_id[id] then
      by_id[id] = {tat = numbers[1], last = numbers[2], backoff = numbers[3], next = numbers[4]}
    end
    jobs[i] = by_id[id] or false
  end
  return nil, all and {fence = all[1], latest = all[2], next = all[3]} or {fence = 0, latest = 0, next = 0}, jobs
end

-- Gathers the write that stores a job.
local function keep_job(id, job)
  gather('HSET', STEAL, 'j:' .. id, cmsgpack.pack({job.tat, job.last, job.backoff, job.next}))
end
