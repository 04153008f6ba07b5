# frozen_string_literal: true

require_relative "helper"
require_relative "kinds"

# What is true of the workers of every kind of queue.
class WorkersTest < MillpondTest
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
