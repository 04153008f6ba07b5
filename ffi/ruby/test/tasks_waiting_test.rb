# frozen_string_literal: true

require_relative "helper"

# A claim that waits lets other threads work, sees what comes, and is ended by what interrupts it.
class TasksWaitingTest < MillpondTest
  FOR_EVER = Float::INFINITY
  WAITS = {
    claims: ->(store) { store.claims("q", wait: FOR_EVER).first[0] },
    jobs: ->(store) { store.worker("q", wait: FOR_EVER).jobs.first.task },
    run: lambda do |store|
      store.worker("q").run(stop_on_signals: false) do |job|
        job.done
        break job.task
      end
    end
  }.freeze

  on_every_backend :waiting_ends do |url|
    store = store_on(url)
    [-> { store.claims("q", wait: 0.1).to_a }, -> { store.worker("q", wait: 1r / 10).jobs.to_a }].each do |wait|
      took = seconds { assert_equal [], wait.call }
      assert_includes 0.1..SOON, took
    end
    assert_operator seconds { store.claims("q", wait: 0).to_a }, :<, SOON
  end

  WAITS.each do |how, wait|
    on_every_backend :"#{how}_sees_what_comes" do |url|
      store = store_on(only_woken(url))
      seen = Queue.new
      thread = in_thread { 3.times { seen << wait.call(store).value } }
      3.times do |number|
        store.insert("q", value: number)
        assert_equal number, Timeout.timeout(PATIENCE) { seen.pop }
        sleep 0.02 # it waits again
      end
      thread.join
    end

    on_every_backend :"#{how}_sees_the_time_come" do |url|
      store = store_on(url)
      took = seconds do
        store.insert("q", value: 7, delay: 0.3)
        assert_equal 7, wait.call(store).value
      end
      assert_includes 0.2..SOON, took
    end

    on_every_backend :"ctrl_c_ends_#{how}" do |url|
      store = store_on(url)
      took = seconds do
        assert_raises(Interrupt) do
          once_it_waits { Process.kill(:INT, Process.pid) }
          wait.call(store)
        end
      end
      assert_operator took, :<, SOON
      store.insert("q", value: 1)
      assert_equal 1, wait.call(store).value
    end

    on_every_backend :"timeout_ends_#{how}" do |url|
      store = store_on(url)
      took = seconds do
        assert_raises(Timeout::Error) { Timeout.timeout(0.1) { wait.call(store) } }
      end
      assert_operator took, :<, SOON
    end

    define_method(:"test_killing_and_raising_end_#{how}") do
      store = store_on(Servers.shared.url)
      killed = in_thread { wait.call(store) }
      raised = in_thread { wait.call(store) }
      killed.kill
      raised.raise(IndexError, "from another thread")
      assert_same killed, killed.join(SOON)
      assert_equal "from another thread", assert_raises(IndexError) { raised.value }.message
    end

    define_method(:"test_closing_ends_#{how}") do
      store = store_on(Servers.shared.url)
      thread = in_thread { wait.call(store) }
      close_clients
      assert_raises(Millpond::ClosedError) { Timeout.timeout(SOON) { thread.value } }
    end

    # It is not known when the program lets it through.
    define_method(:"test_an_interrupt_that_is_held_back_cancels_#{how}") do
      store = store_on("memory:")
      thread = Thread.new do
        Thread.handle_interrupt(IndexError => :never) do
          Thread.current.raise(IndexError, "held back")
          2.times { assert_raises(Millpond::CancelledError) { wait.call(store) } }
        end
        flunk "it comes here"
      rescue IndexError => error
        error.message
      end
      assert_same thread, thread.join(SOON)
      assert_equal "held back", thread.value
    end
  end

  # An error is a retry if it comes while the handler works.
  INTERRUPTED = {
    drain: ->(worker, _) { worker.drain(on_error: ->(*) {}) { |job| job.delete.insert("done", value: job.task.value) } },
    run: ->(worker, _) { worker.run(on_error: ->(*) {}) { |job| job.delete.insert("done", value: job.task.value) } },
    jobs: lambda do |worker, store|
      worker.jobs do |job|
        job.finish(job.delete.insert("done", value: job.task.value))
      rescue Millpond::DependencyError
        # Refused only because the machine stood still for a whole lease: the task is available again.
        raise if store.time < job.task.at_ms
      end
    end
  }.freeze

  # Whatever an interrupt hits, each task was done once or is available again, after its lease if the claim was hit.
  INTERRUPTED.each do |how, work|
    on_every_backend :"an_interrupt_of_#{how}_loses_no_task" do |url|
      store = store_on(url)
      worker = store.worker("q", lease: 0.3, backoff: 0.01, backoff_max: 0.01)
      hits = count = 0
      done = false
      consume = lambda do
        Thread.handle_interrupt(IndexError => :immediate) { work.call(worker, store) }
      rescue IndexError
        hits += 1
      end
      # A thread inherits the mask of its creator.
      thread = Thread.handle_interrupt(IndexError => :never) { Thread.new { consume.call until done } }
      # An interrupt that comes while a handler works is no hit, so how many there are is up to the machine.
      until_then = now + PATIENCE
      while count < 150 || (hits <= 5 && now < until_then)
        store.insert("q", value: count)
        thread.raise(IndexError) if (count % 3).zero?
        count += 1
      end
      wait_until { store.are_empty?(exact: "q") }
      done = true
      worker.stop
      Timeout.timeout(PATIENCE) { thread.join }
      assert_equal [*0...count], store.list("done").tasks.map(&:value).sort
      assert_operator hits, :>, 5
    end
  end

  def test_interrupts_while_a_server_hangs
    server = own_server
    store = connect(server.url, timeout: 60).tasks("x")
    store.insert("q")
    server.run("stop")
    [-> { store.insert("q") }, -> { store.claim("q") }, -> { store.queues }].each do |call|
      took = seconds { assert_raises(Timeout::Error) { Timeout.timeout(0.1) { call.call } } }
      assert_operator took, :<, SOON
    end
    server.run("cont")
    assert store.insert("q")
  end

  on_every_backend :many_threads_wait_and_each_gets_one do |url|
    store = store_on(url)
    threads = Array.new(5) { Thread.new { store.claims("q", wait: 30).first[0] } }
    sleep 0.1
    store.modify((0...5).reduce(modification) { |all, number| all.insert("q", value: number) })
    assert_equal [*0...5], threads.map { |thread| thread.value.value }.sort
  end

  on_every_backend :a_program_ends_although_threads_wait do |url|
    program = <<~'PROGRAM'
      store = Millpond.connect(ARGV[0]).tasks(ARGV[1])
      Thread.new { store.claims("q", wait: Float::INFINITY) { } }
      Thread.new { store.worker("q").run { } }
      store.insert("busy")
      Thread.new { store.worker("busy", lease: 0.1).run { sleep } }
      sleep 0.3
      print "end"
    PROGRAM
    output, status = run_ruby("-rmillpond", "-e", program, url, name_of_queue, seconds: 30)
    assert_equal ["end", true], [output, status.success?]
  end
end
