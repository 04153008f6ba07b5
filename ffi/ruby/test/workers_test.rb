# frozen_string_literal: true

require_relative "helper"
require_relative "kinds"

# What is true of the workers of every kind of queue.
class WorkersTest < MillpondTest
  RESULTS = JSON.parse(File.read(File.join(ROOT, "tests/fixtures/handler-results/cases.json"))).fetch("cases")

  { Kinds::Shuffle => "a message", Kinds::Events => "an event" }.each do |kind, item|
    define_method(:"test_#{kind.label}_ends_without_a_modification") do
      queue = queue_of(kind, "memory:")
      queue.put(0, 1)
      errors = []
      drained = queue.worker.drain(on_error: ->(_, error) { errors << error.message }) do |job|
        queue.number(job).zero? ? modification : [modification]
      end
      assert_equal 0, drained.done
      assert_equal ["the handler returned a modification, and #{item} ends without one",
                    "the handler returned an Array with a Millpond::Modification, " \
                    "and #{item} ends without a modification: return nil"], errors.uniq.sort
    end
  end

  Kinds::WITH_WORKERS.each do |kind|
    on_every_backend :"jobs_of_#{kind.label}_run_at_once_until_a_stop" do |url|
      queue = queue_of(kind, url)
      queue.put(*0...8)
      worker = queue.worker(concurrency: 4, prefetch: 2)
      inside = Queue.new
      threads = Queue.new
      worker.run do |job|
        inside << queue.number(job)
        threads << Thread.current
        # Four are inside before one leaves.
        wait_until { inside.size >= 4 }
        worker.stop if inside.size == 8
      end
      assert_equal [*0...8], Array.new(8) { inside.pop }.sort
      threads = Array.new(8) { threads.pop }.uniq
      assert_includes threads, Thread.current
      assert_equal 4, threads.size
      assert_predicate queue, :empty?
    end

    define_method(:"test_what_a_handler_of_#{kind.label}_may_return") do
      queue = queue_of(kind, "memory:")
      rows = RESULTS.flat_map do |row|
        json = JSON.generate(row.fetch("value"))
        [false, true].map { |symbols| [row, JSON.parse(json, symbolize_names: symbols)] }
      end
      queue.put(*rows.each_index)
      errors = {}
      on_error = ->(job, error) { errors[queue.number(job)] = error.message }
      drained = queue.worker.drain(on_error: on_error) { |job| rows[queue.number(job)].last }
      rows.each_with_index do |(row, value), index|
        case row.fetch("ends")
        when "done" then refute errors[index], row["name"]
        when "failed" then assert_match(/ a Hash with the key "#{row['key']}"/, errors[index], "#{row['name']}: #{value}")
        end
      end
      assert_equal rows.size, drained.done + errors.size
    end

    # To a worker of the same lease, immediately, and it is no failure.
    on_every_backend :"a_job_of_#{kind.label}_that_runs_at_the_deadline_is_given_back" do |url|
      queue = queue_of(kind, url)
      queue.put(7)
      worker = queue.worker(lease: 60, timeout: 9)
      took = seconds do
        worker.run do |job|
          assert_includes 1..9, job.time_left
          worker.stop(within: 60)
          worker.stop(within: 0)
          wait_until { job.lost? }
        end
      end
      assert_operator took, :<, SOON
      jobs = []
      drained = queue.worker(lease: 60).drain do |job|
        jobs << [queue.number(job), queue.failures(job)]
        nil
      end
      assert_equal [1, [[7, 0]]], [drained.done, jobs]
    end

    # Whatever an interrupt hits, each item was done or is there again, after its lease if the claim was hit. An error is
    # a retry if it comes while the handler works.
    kind::RUNS.each do |how|
      on_every_backend :"an_interrupt_of_#{kind.label}_#{how}_loses_nothing" do |url|
        queue = queue_of(kind, url)
        worker = queue.quick_worker
        hits = count = 0
        done = false
        consume = lambda do
          Thread.handle_interrupt(IndexError => :immediate) { queue.work(worker, how) }
        rescue IndexError
          hits += 1
        end
        # A thread inherits the mask of its creator.
        thread = Thread.handle_interrupt(IndexError => :never) { Thread.new { consume.call until done } }
        # An interrupt that comes while a handler works is no hit, so how many there are is up to the machine.
        until_then = now + PATIENCE
        while count < 150 || (hits <= 5 && now < until_then)
          queue.put(count)
          thread.raise(IndexError) if (count % 3).zero?
          count += 1
        end
        wait_until { queue.empty? }
        done = true
        worker.stop
        Timeout.timeout(PATIENCE) { thread.join }
        assert_equal [*0...count], queue.results
        assert_operator hits, :>, 5
      end
    end

    define_method(:"test_a_run_of_#{kind.label}_goes_on_when_the_server_was_away") do
      server = own_server
      queue = queue_of(kind, server.url)
      worker = queue.worker
      errors = Queue.new
      thread = in_thread { worker.run(on_error: ->(job, error) { errors << [job, error] }) { worker.stop } }
      server.run("kill")
      job, error = Timeout.timeout(SOON) { errors.pop }
      assert_nil job
      assert_kind_of Millpond::Error, error
      server.run("restart")
      wait_until { queue.put(1) rescue nil }
      assert_same thread, thread.join(SOON)
      assert_match(/the server is back/, errors.pop[1].message)
      assert_empty errors
    end
  end
end
