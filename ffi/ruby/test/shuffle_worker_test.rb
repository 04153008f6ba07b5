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
    assert_equal [["keys", TypeError], ["modification", TypeError],
                  ["move", Millpond::InvalidArgumentError], ["reject", Millpond::DeadLetterError]], told.sort_by(&:first)
    assert_equal(["rejected: never"], queue.dead_letters.map(&:reason))
    assert_equal 5, queue.pending_count("g")
  end
end
