-- Applies a process's reports of slices, and ends a slice of a job with a limit.
--
-- KEYS[1] steal  KEYS[2] stats  KEYS[3] running of the job whose slice ends, if fenced
-- ARGV[1] fence    of the slice that ends; empty where none does
-- ARGV[2] job      its id
-- ARGV[3] reports  how many jobs are reported on, 0 to JOBS_MAX
-- ARGV[4…] for each report: id, bad slices less good ones, 1 if there is more to do else 0, how often its rate may be
--   halved; then for each counter: its field, its increment
-- returns 1 if the slice that ends still counted, else 0
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
local REPORT = 4
local fence, job_id, report_count = ARGV[1], ARGV[2], whole(ARGV[3], JOBS_MAX)
if not report_count then return invalid('there are not 0 to ' .. JOBS_MAX .. ' reports') end
local counters = 4 + REPORT * report_count
if #ARGV < counters - 1 or (#ARGV - counters) % 2 == 0 then return invalid('the arguments are not complete') end
for i = counters + 1, #ARGV, 2 do
  if not whole(ARGV[i], INTEGER_MAX) then return invalid('a counter is no whole number') end
end
local ids, reports = {}, {}
for i = 1, report_count do
  local at = 4 + REPORT * (i - 1)
  local bad, backoff_max = signed(ARGV[at + 1]), whole(ARGV[at + 3], BACKOFF_MAX)
  if not bad or not backoff_max then return invalid('a report is not of whole numbers within their limits') end
  ids[i] = ARGV[at]
  reports[i] = {bad = bad, more = ARGV[at + 2] == '1', backoff_max = backoff_max}
end
local failure, _, jobs = read_jobs(ids)
if failure then return failure end
failure = read('HLEN', STATS)
if failure then return failure end
if fence ~= '' then
  if not KEYS[3] then return invalid('there is no key for the slice that ends') end
  failure = read('ZCARD', KEYS[3])
  if failure then return failure end
end

redis.call('HDEL', STEAL, '')
local ended = 0
if fence ~= '' then
  ended = redis.call('ZREM', KEYS[3], fence)
  if ended == 0 then redis.call('HINCRBY', STATS, job_id .. ':late', 1) end
end
for i, report in ipairs(reports) do
  local job = jobs[i]
  if job then
    job.backoff = report.more and 0 or math.max(0, math.min(job.backoff + report.bad, report.backoff_max))
    keep_job(ids[i], job)
  end
end
failure = write_all()
if failure then return failure end
for i = counters, #ARGV, 2 do
  redis.call('HINCRBY', STATS, ARGV[i], ARGV[i + 1])
end
return ended
