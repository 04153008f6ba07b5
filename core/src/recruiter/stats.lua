-- Reads the counters and the state of the jobs.
--
-- KEYS[1] steal  KEYS[2] stats
-- returns {{id, how often its rate is halved, last grant in microseconds, for each job}, {field, how many, for each
--   counter}}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
local failure, fields = read('HKEYS', STEAL)
if failure then return failure end
local ids = {}
for _, field in ipairs(fields) do
  if string.sub(field, 1, 2) == 'j:' then ids[#ids + 1] = string.sub(field, 3) end
end
local failure, _, jobs = read_jobs(ids)
if failure then return failure end
local failure, counters = read('HGETALL', STATS)
if failure then return failure end
local known = {}
for i, id in ipairs(ids) do
  known[#known + 1], known[#known + 2], known[#known + 3] = id, jobs[i].backoff, jobs[i].last
end
return {known, counters}
