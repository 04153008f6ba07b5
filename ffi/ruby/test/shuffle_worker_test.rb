# frozen_string_literal: true

require_relative "helper"

# Workers of shuffle queues, which run as those of tasks do.
class ShuffleWorkerTest < MillpondTest
  on_every_backend :a_handler_says_how_its_job_ends do |url|
    queue = shuffle_queue_on(url)
    ends = { "nil" => nil, "other" => 7, "retry" => Millpond::Retry.new("why", delay: 60),
             "release" => Millpond::Release.new(delay: 60), "reject" => Millpond::Reject.new("never"),
             "move" => Millpond::Move.new("p"), "modification" => modification.insert("q"), "keys" => { "inserts" => [] } }
    queue.write_many(ends.keys.map { |name| [name, { "n" => name }] })
    told = []
    kinds = {}
    on_event = ->(report) { kinds[report.shuffle_message["n"]] = report.kind }
    on_error = ->(job, error) { told << [job.message["n"], error.class] }
    worker = queue.consumer("g", "c").worker(lease: 60, backoff: 60, delete: true)
    drained = worker.drain(on_error: on_error, on_event: on_event) { |job| ends.fetch(job.message["n"]) }
    assert_equal({ "nil" => :done, "other" => :done, "retry" => :retried, "release" => :released, "reject" => :dead,
                   "move" => :refused, "modification" => :retried, "keys" => :retried }, kinds)
    assert_equal [2, 4, 1, 1], drained.to_a
    assert_equal [["keys", TypeError], ["modification", Millpond::InvalidArgumentError],
                  ["move", Millpond::InvalidArgumentError], ["reject", Millpond::InternalError]], told.sort_by(&:first)
    assert_equal(["rejected: never"], queue.dead_letters.map(&:reason))
    assert_equal 5, queue.pending_count("g")
  end

  on_every_backend :jobs_run_at_once_until_a_stop do |url|
    queue = shuffle_queue_on(url)
    queue.write_many(numbered(8))
    worker = queue.consumer("g", "c").worker(concurrency: 4, prefetch: 2)
    inside = Queue.new
    worker.run do |job|
      inside << Integer(job.message["n"])
      wait_until { inside.size >= 4 }
      worker.stop if inside.size == 8
    end
    assert_equal [*0...8], Array.new(8) { inside.pop }.sort
    assert_equal 0, queue.pending_count("g")
  end

  on_every_backend :what_runs_at_the_deadline_is_given_back do |url|
    queue = shuffle_queue_on(url)
    queue.write_many(numbered(1))
    worker = queue.consumer("g", "c").worker(lease: 60, timeout: 9)
    worker.run do |job|
      assert_includes 1..9, job.time_left
      worker.stop(within: 0)
      wait_until { job.lost? }
    end
    # By a worker of the same lease, at once, and the delivery does not count.
    deliveries = []
    other = queue.consumer("g", "d").worker(lease: 60)
    assert_equal 1, other.drain { |job| deliveries << job.message.deliveries }.done
    assert_equal [1], deliveries
  end

  # Whatever an interrupt hits, each message was done or is delivered again.
  on_every_backend :an_interrupt_loses_no_message do |url|
    queue = shuffle_queue_on(url)
    worker = queue.consumer("g", "c").worker(lease: 0.5, backoff: 0.01, concurrency: 2)
    seen = Queue.new
    done = false
    consume = lambda do
      Thread.handle_interrupt(IndexError => :immediate) do
        worker.run(on_error: ->(*) {}) { |job| seen << Integer(job.message["n"]) }
      end
    rescue IndexError
      nil
    end
    thread = Thread.handle_interrupt(IndexError => :never) { Thread.new { consume.call until done } }
    60.times do |number|
      queue.write("tenant", { "n" => number.to_s })
      thread.raise(IndexError) if (number % 3).zero?
    end
    wait_until { queue.backlog.zero? && queue.pending_count("g").zero? }
    done = true
    worker.stop
    assert thread.join(SOON)
    assert_equal [*0...60], Array.new(seen.size) { seen.pop }.uniq.sort
  end
end
