# frozen_string_literal: true

require_relative "helper"

# Runs of workers: threads, stops, signals, and who is told.
class TasksWorkerRunTest < MillpondTest
  def insert(store, count)
    store.modify((0...count).reduce(modification) { |all, number| all.insert("q", value: number, priority: [9 - number, 0].max) })
  end

  on_every_backend :a_stop_gives_back_what_nobody_began_and_waits_for_the_rest do |url|
    store = store_on(url)
    insert(store, 6)
    worker = store.worker("q", prefetch: 5)
    events = []
    worker.run(on_event: ->(report) { events << [report.kind, report.task.value] }) do |job|
      assert_equal 0, job.task.value
      worker.stop(within: 60)
      wait_until { store.queue_stats.first.claimed == 1 }
      job.delete.insert("done", value: 0)
    end
    assert_equal [[:done, 0], *(1..5).map { |number| [:released, number] }], events.sort_by(&:last)
    assert_equal([[0, "", 1]] * 5, store.list("q").tasks.map { |task| [task.attempt, task.err, task.claims] })
    assert_equal({ "done" => 1, "q" => 5 }, store.queues)
    # It stays stopped.
    assert_equal [0] * 4, worker.run { flunk }.to_a
    assert_equal [0] * 4, worker.drain { flunk }.to_a
  end

  on_every_backend :what_runs_at_the_deadline_is_given_back do |url|
    store = store_on(url)
    insert(store, 1)
    worker = store.worker("q")
    took = seconds do
      worker.run do |job|
        worker.stop(within: 60)
        worker.stop(within: 0.1)
        wait_until { job.lost? }
        assert_raises(Millpond::LeaseLostError) { job.claim_docs("n", "k") }
        task = Timeout.timeout(SOON) { store.claims("q", wait: SOON).first[0] }
        assert_equal [0, 2], [task.attempt, task.claims]
        # It has no effect.
        job.delete.insert("late")
      end
    end
    assert_operator took, :<, SOON
    assert_equal({ "q" => 1 }, store.queues)
  end

  on_every_backend :a_lost_lease_is_told do |url|
    store = store_on(renewing(url))
    insert(store, 1)
    told = []
    drained = store.worker("q", lease: 60).drain(on_error: ->(job, error) { told << [job.task.value, error.class] }) do |job|
      same = connect(url).tasks(name_of_queue, claimant: job.task.claimant) unless url.start_with?("file:", "memory:")
      delete_held(same || @clients.first.tasks(name_of_queue, claimant: job.task.claimant), job)
      wait_until { job.lost? }
      job.delete.insert("late")
    end
    assert_equal 1, drained.others
    assert_equal [[0, Millpond::LeaseLostError]], told
    assert_empty store.queues
  end

  def test_the_time_of_a_handler
    store = store_on("memory:")
    insert(store, 1)
    left = nil
    store.worker("q", timeout: 0.2).drain do |job|
      left = job.time_left
      wait_until { job.time_left.zero? }
    end
    assert_includes 0.001..0.2, left
    insert(store, 1)
    store.worker("q").drain { |job| assert_nil job.time_left }
  end

  def test_what_is_logged
    store = store_on("memory:")
    insert(store, 1)
    worker = store.worker("q", max_attempts: 1)
    lines = /ERROR -- millpond: task \h+ of queue q was put aside: into q\/err: exhausted: IndexError: why
#{__FILE__}:\d+:in .*: why \(IndexError\)\n\tfrom /m
    assert_logs(lines) { worker.drain { raise IndexError, "why" } }
    insert(store, 1)
    events = []
    assert_logs(/\A\z/) do
      told = []
      on_error = ->(job, error) { told << [job.task.queue, error.class, error.message, error.cause.message] }
      worker.drain(on_error: on_error, on_event: events.method(:<<)) { raise IndexError, "why" }
      queue, *error, cause = told.shift
      assert_equal ["q", Millpond::DeadLetterError, "why"], [queue, error[0], cause]
      assert_match(/\Atask \h+ of queue q was put aside: into q\/err: exhausted: IndexError: why\z/, error[1])
      assert_empty told
    end
    report, = events
    assert_equal [1, :dead, true, "q", Millpond::DeadLetterError],
                 [events.size, report.kind, report.trouble?, report.task.queue, report.error.class]
  end

  def test_taken_documents_are_no_failure
    store = store_on("memory:")
    insert(store, 1)
    store.modify(modification.insert_doc("n", "k"))
    store.claim_docs("n", "k", lease: 60)
    kinds = []
    tries = 0
    assert_logs(/\A\z/) do
      store.worker("q").drain(on_event: ->(report) { kinds << report.kind }) do |job|
        job.claim_docs("n", "k") if (tries += 1) < 3
      end
    end
    assert_equal %i[released released done], kinds
  end

  on_every_backend :a_job_that_its_handler_ended_is_not_given_back do |url|
    store = store_on(url)
    insert(store, 1)
    assert_logs(/\A\z/) do
      store.worker("q").run do |job|
        job.move_to("p", "by hand")
        break
      end
    end
    assert_equal({ "p" => 1 }, store.queues)
  end

  # What ends a thread ends the run, on whichever of its threads it happens.
  { exit: SystemExit, raise: NoMemoryError, end: nil }.each do |how, raised|
    on_every_backend :"#{how}_on_any_thread_ends_the_run" do |url|
      store = store_on(url)
      insert(store, 3)
      worker = store.worker("q", concurrency: 3, prefetch: 2)
      inside = Queue.new
      cleaned = Queue.new
      run = lambda do
        worker.run do |job|
          inside << 1
          wait_until { inside.size == 3 }
          if Thread.current != Thread.main && job.task.value.positive?
            { exit: -> { exit }, raise: -> { raise NoMemoryError }, end: -> { Thread.exit } }.fetch(how).call
          end
          wait_until { job.lost? } if Thread.current == Thread.main
          sleep if Thread.current != Thread.main
        ensure
          cleaned << 1
        end
      end
      raised ? assert_raises(raised, &run) : run.call
      assert_equal 3, cleaned.size
      tasks = store.list("q").tasks
      # A claim may be under way when the run ends: what it brings is given back as well.
      assert(tasks.all? { |task| (1..2).cover?(task.claims) })
      # The others are given back untried.
      failed, untried = tasks.partition { |task| task.attempt == 1 }
      assert_equal how == :end, failed.empty?
      assert(untried.all? { |task| [task.attempt, task.err] == [0, ""] })
      assert_equal untried.size, store.claim_many("q", 5).size
      # Only that run.
      store.insert("p")
      assert_equal 1, store.worker("p").drain { nil }.done
    end
  end

  PROGRAM = <<~'PROGRAM'
    $stdout.sync = true
    store = Millpond.connect(ARGV[0]).tasks(ARGV[1])
    store.worker("q", concurrency: 3, prefetch: 4).run do |job|
      puts job.task.value
      sleep 0.003
      job.delete.insert("done", value: job.task.value)
    end
    puts "end"
  PROGRAM

  # Nothing is lost, and nothing that SIGTERM or Ctrl-C hits is begun twice.
  def test_signals_stop_a_process
    store = store_on(Servers.shared.url)
    insert(store, 200)
    begun = []
    %i[TERM INT].cycle do |signal|
      lines = IO.popen([{ "MILLPOND_LIBRARY" => LIBRARY_PATH }, RbConfig.ruby, "-I", File.join(GEM_ROOT, "lib"),
                        "-rmillpond", "-e", PROGRAM, Servers.shared.url, name_of_queue]) do |process|
        first = process.gets # it is at work
        sleep 0.1
        Process.kill(signal, process.pid)
        [first, *process.read.lines].map(&:chomp)
      end
      assert_predicate $?, :success?
      assert_equal "end", lines.pop
      begun.concat(lines.map(&:to_i))
      break if store.are_empty?(exact: "q")
    end
    assert_equal [*0...200], begun.sort
    assert_equal 200, store.queues["done"]
  end

  def test_a_second_signal_stops_at_once
    store = store_on("memory:")
    insert(store, 1)
    seen = []
    before = trap(:TERM) { seen << :mine }
    worker = store.worker("q")
    took = seconds do
      worker.run(stop_within: 600) do |job|
        2.times { Process.kill(:TERM, Process.pid) && sleep(0.05) }
        wait_until { job.lost? }
      end
    end
    assert_operator took, :<, SOON
    # The program's own trap was called as well, and is alone again.
    assert_equal %i[mine mine], seen
    Process.kill(:TERM, Process.pid)
    wait_until { seen.size == 3 }
    assert_equal 1, store.claim_many("q", 5).size
  ensure
    trap(:TERM, before)
  end

  # The job ends first.
  def test_what_the_trap_of_the_program_raises_comes_after_the_run
    store = store_on("memory:")
    insert(store, 2)
    seen = []
    before = trap(:TERM) { exit 7 }
    raised = assert_raises(SystemExit) do
      store.worker("q").run do |job|
        Process.kill(:TERM, Process.pid)
        seen << job.task.value
      end
    end
    assert_equal [7, [0]], [raised.status, seen]
    assert_equal [1], store.list("q").tasks.map(&:value)
  ensure
    trap(:TERM, before)
  end

  def test_a_trap_that_is_set_during_a_run_stays
    store = store_on("memory:")
    insert(store, 1)
    worker = store.worker("q")
    before = trap(:TERM, "DEFAULT")
    later = -> {}
    worker.run do
      trap(:TERM, later)
      worker.stop
    end
    assert_same later, trap(:TERM, "DEFAULT")
  ensure
    trap(:TERM, before)
  end

  def test_a_program_stops_its_worker_in_its_own_handler
    store = store_on(Servers.shared.url)
    worker = store.worker("q", concurrency: 2)
    before = trap(:USR1) { worker.stop }
    Thread.new { sleep(0.2) && Process.kill(:USR1, Process.pid) }
    assert_operator seconds { worker.run { flunk } }, :<, SOON
  ensure
    trap(:USR1, before)
  end
end
