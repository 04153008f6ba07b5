-- Grants a slice of one of the jobs that a process offers, or none, and says when the process asks again. It first
-- applies the process's reports of earlier slices.
--
-- KEYS[1] steal  KEYS[2] stats  KEYS[3…] running of each offered job that has a limit, in their order
-- ARGV[1] jobs     how many jobs are offered, 1 to JOBS_MAX
-- ARGV[2] reports  how many jobs are reported on, 0 to JOBS_MAX
-- ARGV[3…] for each job: id, interval_us, burst, max_running, lease_us, how often its rate may be halved; for each
--   report: id, bad slices less good ones, 1 if there is more to do else 0, how often its rate may be halved; then for
--   each counter: its field, its increment
-- returns {number of the granted job or 0, how often its rate is halved, fence, microseconds to pause, microseconds
--   until a job can be granted, 1 if a job has a token but no room else 0}
-- errors WRONGTYPE, INCOMPATIBLE_VERSION, INVALID_ARGUMENT, CORRUPT
local JOB, REPORT = 6, 4
local job_count, report_count = whole(ARGV[1], JOBS_MAX), whole(ARGV[2], JOBS_MAX)
if not job_count or job_count < 1 or not report_count then
  return invalid('there are not 1 to ' .. JOBS_MAX .. ' jobs')
end
local counters = 3 + JOB * job_count + REPORT * report_count
if #ARGV < counters - 1 or (#ARGV - counters) % 2 == 0 then return invalid('the arguments are not complete') end
for i = counters + 1, #ARGV, 2 do
  if not whole(ARGV[i], INTEGER_MAX) then return invalid('a counter is no whole number') end
end

local ids, offered, key = {}, {}, 3
for i = 1, job_count do
  local at = 3 + JOB * (i - 1)
  local interval, burst = whole(ARGV[at + 1], INTERVAL_US_MAX), whole(ARGV[at + 2], BURST_MAX)
  local max_running, lease = whole(ARGV[at + 3], RUNNING_MAX), whole(ARGV[at + 4], INTEGER_MAX)
  local backoff_max = whole(ARGV[at + 5], BACKOFF_MAX)
  if not interval or interval < 1 or not burst or burst < 1 or not max_running or not lease or not backoff_max then
    return invalid('a job is not of whole numbers within their limits')
  end
  ids[i] = ARGV[at]
  offered[i] = {interval = interval, burst = burst, max_running = max_running, lease = lease, backoff_max = backoff_max}
  if max_running > 0 then
    if not KEYS[key] then return invalid('there is no key for a job with a limit') end
    offered[i].running, key = KEYS[key], key + 1
  end
end
local reports = {}
for i = 1, report_count do
  local at = 3 + JOB * job_count + REPORT * (i - 1)
  local bad, backoff_max = signed(ARGV[at + 1]), whole(ARGV[at + 3], BACKOFF_MAX)
  if not bad or not backoff_max then return invalid('a report is not of whole numbers within their limits') end
  ids[job_count + i] = ARGV[at]
  reports[i] = {bad = bad, more = ARGV[at + 2] == '1', backoff_max = backoff_max}
end

local failure, all, jobs = read_jobs(ids)
if failure then return failure end
failure = read('HLEN', STATS)
if failure then return failure end
for _, job in ipairs(offered) do
  if job.running then
    failure = read('ZCARD', job.running)
    if failure then return failure end
  end
end

-- A clock that is slightly behind is treated as standing still; one that is far behind was set back.
local now = CLOCK
if CLOCK < all.latest - CLOCK_STEP_US then
  all.next = now
elseif CLOCK < all.latest then
  now = all.latest
end
-- A job has one table, whether it is offered, reported on or both.
local by_id = {}
for i, id in ipairs(ids) do
  by_id[id] = by_id[id] or jobs[i] or {backoff = 0}
  jobs[i] = by_id[id]
end
for i, report in ipairs(reports) do
  local job = jobs[job_count + i]
  if job.tat then job.backoff = report.more and 0 or math.max(0, math.min(job.backoff + report.bad, report.backoff_max)) end
end

-- A server whose memory is full lets a script add data after a command that removes data.
redis.call('HDEL', STEAL, '')
local best, best_key, wait, busy_wait, first_ask, first_job, next_ask
for i, offer in ipairs(offered) do
  local job, interval = jobs[i], offer.interval
  local tolerance = (offer.burst - 1) * interval
  if not job.tat then
    job.tat, job.last, job.next = now + tolerance, 0, now
  end
  -- An earlier definition may have allowed a lower rate, and an earlier clock may have been ahead.
  job.backoff, job.last = math.min(job.backoff, offer.backoff_max), math.min(job.last, now)
  job.next = math.min(job.next, now + ASK_US_MAX)
  local period = interval * 2 ^ job.backoff
  -- One and a half asks for each slice; two, if there is less than one slice a second.
  local ask = period <= 1000000 and 1000000 / (1500000 / period + 0.5) or period / 2
  local at_ask = math.max(job.next, now)
  if not first_ask or at_ask < first_ask then
    first_ask, first_job, next_ask = at_ask, job, math.min(at_ask + math.floor(ask), now + ASK_US_MAX)
  end

  job.tat = math.min(job.tat, now + offer.burst * interval)
  local ready = math.max(job.tat, now) - tolerance
  if job.backoff > 0 then ready = math.max(ready, job.last + period) end
  if ready > now then
    wait = math.min(wait or ready - now, ready - now)
  else
    local has_room = true
    if offer.running then
      local lost = redis.call('ZREMRANGEBYSCORE', offer.running, '-inf', string.format('%.0f', now))
      if lost > 0 then redis.call('HINCRBY', STATS, ids[i] .. ':lost', lost) end
      has_room = redis.call('ZCARD', offer.running) < offer.max_running
      if not has_room then
        -- No lease is longer, unless the clock was set back since.
        local longest = string.format('%.0f', now + offer.lease)
        for _, fence in ipairs(redis.call('ZRANGEBYSCORE', offer.running, '(' .. longest, '+inf')) do
          redis.call('ZADD', offer.running, longest, fence)
        end
        local first = tonumber(redis.call('ZRANGE', offer.running, 0, 0, 'WITHSCORES')[2])
        busy_wait = math.min(busy_wait or BUSY_US_MAX, first - now)
      end
    end
    if has_room then
      local idle = (now - job.last) / interval
      if not best or idle > best_key then best, best_key = i, idle end
    end
  end
end

-- Only that job's: several jobs together need the sum of the asks that each needs alone.
first_job.next = next_ask
local at_all = math.max(math.min(all.next, now + ASK_ALL_US_MAX), now)
all.next = math.min(at_all + ASK_ALL_US, now + ASK_ALL_US_MAX)
local pause = math.max(first_ask - now, at_all - now)
if pause <= PAUSE_US_MIN then pause = 0 end
local fence = 0
if best then
  local job, offer = jobs[best], offered[best]
  fence = math.max(all.fence + 1, now)
  all.fence = fence
  job.tat, job.last = math.max(job.tat, now) + offer.interval, now
  if offer.running then
    redis.call('ZADD', offer.running, string.format('%.0f', now + offer.lease), string.format('%.0f', fence))
  end
  redis.call('HINCRBY', STATS, ids[best] .. ':granted', 1)
end
all.latest = now

for id, job in pairs(by_id) do
  if job.tat then keep_job(id, job) end
end
gather('HSET', STEAL, 'version', LAYOUT)
gather('HSET', STEAL, 'all', cmsgpack.pack({all.fence, all.latest, all.next}))
failure = write_all()
if failure then return failure end
for i = counters, #ARGV, 2 do
  redis.call('HINCRBY', STATS, ARGV[i], ARGV[i + 1])
end
if best then return {best, jobs[best].backoff, fence, pause, 0, 0} end
local is_busy = busy_wait and 1 or 0
wait = math.min(wait or WAIT_US_MAX, busy_wait or WAIT_US_MAX, WAIT_US_MAX)
return {0, 0, 0, pause, wait, is_busy}
