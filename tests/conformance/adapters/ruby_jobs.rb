# frozen_string_literal: true

# Jobs of a worker, and what a request says of each.
module Jobs
  # What is done before the end of a job, whose arguments the rest are.
  BEFORE = %w[claim_docs claim_wait_ms run sleep_ms then].freeze

  # Takes jobs, and does with each as the request says.
  def work(worker, left)
    seen = []
    return seen if left.empty?

    worker.jobs do |job|
      said = left.shift
      one = seen_of(job)
      one[:answer] = attempt do
        meanwhile(job, said, one)
        finish(job, said)
      end
      seen << one
      break if left.empty?
    end
    seen
  end

  # The same by a handler.
  def run(worker, left)
    seen = []
    on_error = ->(_, error) { seen.last[:told] = error.name }
    worker.run(on_error: on_error) do |job|
      said = left.shift
      raise "no such job" unless said

      seen << (one = seen_of(job))
      one[:told] = nil
      failure = nil
      one[:answer] = attempt do
        meanwhile(job, said, one)
      rescue StandardError => failure
        raise
      end
      raise failure if failure

      outcome(said)
    end
    seen
  end

  private

  def seen_of(job)
    { task: job.task, docs: [], is_lost: false }
  end

  # What a job does before it ends.
  def meanwhile(job, said, one)
    wait = seconds(said["claim_wait_ms"])
    (said["claim_docs"] || []).each { |space, key| one[:docs].concat(job.claim_docs(space, key, wait: wait)) }
    (said["run"] || []).each do |request|
      request["calls"][0][1]["claimant"] ||= job.task.claimant
      respond(request)
    end
    sleep(said["sleep_ms"] / 1000.0) if said["sleep_ms"]
    one[:is_lost] = job.lost?
    nil
  end

  def finish(job, said)
    ending = said["then"]
    result = made(job, ending == "move" ? "move_to" : ending, said.except(*BEFORE))
    result if ending == "finish"
  end

  # The same as a handler says it.
  def outcome(said)
    ending = said["then"]
    case ending
    when "done" then nil
    when "finish" then modification(said["modification"])
    when "fail" then raise said["err"]
    else raise made(Millpond.const_get(ending.capitalize), :new, said.except(*BEFORE))
    end
  end
end
