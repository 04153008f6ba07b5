-- The tasks of a queue by time and id, in pages; what the steps begin with that go through them.

-- What to look at, as ARGV[at] and the two behind it say it: limit, how many tasks; after_at_ms and after_id of the
-- task that they come after, empty for the first ones. Or first an error.
local function page_at(at, most)
  local limit, after_at, after_id = whole(ARGV[at], most), whole(ARGV[at + 1], TIME_MS_MAX), ARGV[at + 2]
  if not limit or limit < 1 then return invalid('limit is not a whole number from 1 to ' .. most) end
  if not after_id or (after_at == nil) ~= (after_id == '') or not after_at and ARGV[at + 1] ~= '' then
    return invalid('after_at_ms and after_id say no position')
  end
  return nil, {limit = limit, after_at = after_at, after_id = after_id}
end

-- The rank of the first task of a level behind the position, where the task itself may be gone.
local function rank_behind(key, after_at, after_id)
  if not after_at then return 0 end
  local score = redis.call('ZSCORE', key, after_id)
  if score and tonumber(score) == after_at then return redis.call('ZRANK', key, after_id) + 1 end
  -- Of the tasks of that time, which are in the order of their ids, a binary search.
  local low = redis.call('ZCOUNT', key, '-inf', string.format('(%.0f', after_at))
  local high = low + redis.call('ZCOUNT', key, after_at, after_at)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local id = redis.call('ZRANGE', key, middle, middle)[1]
    if precedes(after_id, id) then high = middle else low = middle + 1 end
  end
  return low
end

-- The ids of a page of a queue, their records, false for one that is not there, and the time of the last one if there are
-- more behind it; or first an error.
local function read_page(name, page)
  local failure, levels = read('HGET', LEVELS, name)
  if failure then return failure end

  -- Of each level one task more than the page has, so that it is seen whether there are more.
  local runs = {}
  for level in string.gmatch((levels or '') .. '0', '.') do
    local key = at_key(name, level)
    local failure, size = read('ZCARD', key)
    if failure then return failure end
    if size > 0 then
      local rank = rank_behind(key, page.after_at, page.after_id)
      local run = redis.call('ZRANGE', key, rank, rank + page.limit, 'WITHSCORES')
      if #run > 0 then runs[#runs + 1] = {strings = run, at = 1} end
    end
  end

  -- The next task of all levels and its time; nothing if there is none.
  local function next_task()
    local best
    for i, run in ipairs(runs) do
      local id, at = run.strings[run.at], tonumber(run.strings[run.at + 1])
      if id and (not best or at < best.score or at == best.score and precedes(id, best.id)) then
        best = {run = i, id = id, score = at}
      end
    end
    if not best then return nil end
    runs[best.run].at = runs[best.run].at + 2
    return best.id, best.score
  end

  local ids, last_at = {}, nil
  while #ids < page.limit do
    local id, at = next_task()
    if not id then break end
    ids[#ids + 1], last_at = id, at
  end
  if not next_task() then last_at = nil end

  local failure, records = read_fields(STORE, ids)
  if failure then return failure end
  return unpack_tasks(ids, records, name), ids, records, last_at
end
