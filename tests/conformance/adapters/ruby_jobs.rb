# frozen_string_literal: true

# What handlers are told to fail with is no trouble.
Millpond.logger = Logger.new(nil)

# Jobs of a worker, and what a request says of each.
module Jobs
  # What is done before the end of a job, whose arguments the rest are.
  BEFORE = %w[together claim_docs claim_wait_ms run sleep_ms stop_ms until_told_ms then].freeze
  # For how long a handler waits for others to be at work.
  TOGETHER_MS = 10_000
  # Held while it is counted who is at work.
  COUNTING = Mutex.new

  # Takes jobs, and does with each as the request says.
  def work(worker, left)
    seen = []
    return seen if left.empty?

    worker.jobs do |job|
      said = left.shift
      one = seen_of(job)
      one[:answer] = attempt do
        meanwhile(job, said, one)
        one[:is_lost] = job.lost?
        finish(job, said)
      end
      seen << one
      break if left.empty?
    end
    seen
  end

  # The same by a handler, until nothing is available.
  def drain(worker, left)
    drained = nil
    jobs = handled(worker, left) { |reports, handler| drained = worker.drain(on_event: reports, &handler) }
    { jobs: jobs, drained: drained.to_h }
  end

  # The same until the worker is stopped.
  def run(worker, left)
    handled(worker, left) { |reports, handler| worker.run(on_event: reports, &handler) }
  end

  private

  # What is seen of each job, and the last report of it.
  def handled(worker, left)
    seen = []
    told = {}
    at_work = [0, 0]
    reports = ->(report) { told[encoded(report.task || report.shuffle_message || report.event)] = report }
    yield reports, ->(job) { handle(worker, job, left.shift, seen, at_work) }
    seen.each do |one|
      report = told[encoded(one.first.last)]
      one.merge!(kind: report&.kind&.to_s, told: report&.error&.name)
    end
  end

  # `at_work` is how many handlers are, and how many were at most.
  def handle(worker, job, said, seen, at_work)
    raise "no such job" unless said

    COUNTING.synchronize { at_work.replace([at_work[0] + 1, [at_work[0] + 1, at_work[1]].max]) }
    seen << (one = seen_of(job))
    failure = nil
    one[:answer] = attempt do
      wait(TOGETHER_MS) { at_work[1] >= said.fetch("together", 0) }
      meanwhile(job, said, one)
      worker.stop(within: seconds(said["stop_ms"])) if said["stop_ms"]
      wait(said.fetch("until_told_ms", 0)) { job.lost? || late?(job) }
    rescue StandardError => failure
      raise
    end
    COUNTING.synchronize { at_work[0] -= 1 }
    one.merge!(is_lost: job.lost?, is_late: late?(job), at_once: at_work[1])
    raise failure if failure

    outcome(job, said)
  end

  def seen_of(job)
    taken =
      case job
      when Millpond::Job then { task: job.task }
      when Millpond::EventJob then { event: job.event }
      else { message: job.message }
      end
    { **taken, docs: [], is_lost: false }
  end

  def late?(job)
    job.time_left == 0
  end

  # Waits until the block is true, but no longer than this.
  def wait(most_ms)
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond) + most_ms
    sleep(0.005) until yield || Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond) >= finish
  end

  # What a job does before it ends.
  def meanwhile(job, said, one)
    wait = seconds(said["claim_wait_ms"])
    (said["claim_docs"] || []).each { |space, keys| one[:docs].concat(job.claim_docs(space, keys, wait: wait)) }
    (said["run"] || []).each do |request|
      on, given = request["calls"][0]
      given["claimant"] ||= job.task.claimant if on == "tasks"
      respond(request)
    end
    sleep(said["sleep_ms"] / 1000.0) if said["sleep_ms"]
  end

  def finish(job, said)
    ending = said["then"]
    result = made(job, ending == "move" ? "move_to" : ending, said.except(*BEFORE))
    result if ending == "finish"
  end

  # The same as a handler says it.
  def outcome(job, said)
    ending = said["then"]
    case ending
    when "done" then nil
    when "value" then said["value"]
    when "finish" then modification(said["modification"])
    when "nearly" then nearly(job, said)
    when "fail" then raise said["err"]
    else raise made(Millpond.const_get(ending.capitalize), :new, said.except(*BEFORE))
    end
  end

  def nearly(job, said)
    case said["as"]
    when "plain" then said["modification"]
    when "builder" then job.task.change(queue: "p")
    when "unawaited" then Thread.new { sleep }
    else raise Unsupported, "no handler returns what is nearly a modification as #{said['as']}"
    end
  end
end
