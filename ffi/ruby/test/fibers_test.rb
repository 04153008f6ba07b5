# frozen_string_literal: true

require "minitest/mock"
require_relative "helper"
require_relative "kinds"
require_relative "scheduler"

# Under a fiber scheduler a call that waits lets the other fibers of its thread run.
class FibersTest < MillpondTest
  # Seconds that a wait takes if it holds up the fiber that would end it.
  LONG = 60

  # Runs it under a scheduler; no thread of a call is left afterwards.
  def schedule(&block)
    before = Thread.list
    took = seconds { Scheduler.run(&block) }
    assert_operator took, :<, LONG / 2
    # One that has ended may be there for a moment.
    assert_empty((Thread.list - before).reject { |thread| thread.join(5) })
  end

  Kinds.each_wait do |name, kind, how|
    on_every_backend :"others_run_while_#{name}_waits" do |url|
      queue = queue_of(kind, url)
      numbers = nil
      schedule do
        Fiber.schedule { numbers = queue.wait(how, LONG) }
        sleep 0.1
        queue.put(1)
      end
      assert_equal [1], numbers
    end

    # No wait is left that would get what comes after it.
    on_every_backend :"a_timeout_and_an_exception_end_#{name}" do |url|
      queue = queue_of(kind, url)
      error = nil
      schedule do
        assert_raises(Timeout::Error) { Timeout.timeout(0.1) { queue.wait(how, LONG) } }
        waiting = Fiber.new(blocking: false) do
          queue.wait(how, LONG)
        rescue IndexError => error
          nil
        end
        waiting.resume
        sleep 0.1
        waiting.raise(IndexError, "from another fiber")
      end
      assert_equal "from another fiber", error.message
      queue.put(7)
      assert_equal [7], queue.wait(how)
    end
  end

  on_every_backend :many_wait_at_a_time do |url|
    queue = shuffle_queue_on(url)
    read = []
    schedule do
      10.times { |number| Fiber.schedule { read << queue.consumer("g", number.to_s).read(wait: LONG) } }
      sleep 0.1
      queue.write_many(numbered(10))
    end
    assert_equal [*0...10], numbers(read).sort
  end

  on_every_backend :workers do |url|
    store = store_on(url)
    6.times { |number| store.insert("in", value: number) }
    at_work = most = 0
    until_then = now + (LONG / 4)
    schedule do
      3.times do
        Fiber.schedule do
          store.worker("in").drain do |job|
            most = [most, at_work += 1].max
            sleep 0.005 until most == 3 || now > until_then
            at_work -= 1
            job.delete.insert("out", value: job.task.value)
          end
        end
      end
    end
    assert_equal 3, most
    assert_equal [*0...6], store.list("out").tasks.map(&:value).sort
  end

  def test_others_run_while_a_server_hangs
    server = own_server
    ick = connect(server.url, timeout: LONG).ick("x")
    ick.add([[1, "a"]])
    server.run("stop")
    stats = nil
    schedule do
      Fiber.schedule { stats = ick.stats }
      sleep 0.1
      server.run("cont")
    end
    assert_equal 1, stats.total_size
  end

  def test_a_second_interrupt_waits_for_the_end_of_the_call
    server = own_server
    ick = connect(server.url, timeout: LONG).ick("x")
    server.run("stop")
    errors = []
    schedule do
      waiting = Fiber.new(blocking: false) do
        ick.lease(ttl: 60)
      rescue IndexError => error
        errors << error.message
      end
      waiting.resume
      sleep 0.1
      waiting.raise(IndexError, "first")
      waiting.raise(IndexError, "second") if waiting.alive?
    end
    assert_includes [%w[first], %w[second]], errors
    server.run("cont")
  end

  def test_errors
    schedule do
      error = assert_raises(Millpond::InvalidArgumentError) { connect("memory:").ick("x").reserve(10**17) }
      assert_equal "ick.reserve", error.operation
      assert_match(/fibers_test/, error.backtrace.join)
    end
  end

  # Such a fiber asks to hold up its thread; an Enumerator's is one of these.
  def test_a_blocking_fiber_makes_its_calls_itself
    made = 0
    schedule do
      Fiber.new(blocking: true) do
        Thread.stub(:new, ->(*) { made += 1 }) { ick_on("memory:").stats }
      end.resume
    end
    assert_equal 0, made
  end

  def test_a_program_that_ctrl_c_ends
    reading, writing = IO.pipe
    program = <<~'RUBY'
      Fiber.set_scheduler(Scheduler.new)
      Fiber.schedule { Millpond.connect("memory:").ick("x").each_batch(1, wait: 60) { } }
      Fiber.schedule { sleep 0.2; puts; $stdout.flush }
    RUBY
    child = spawn({ "MILLPOND_LIBRARY" => LIBRARY_PATH }, RbConfig.ruby, "-I#{GEM_ROOT}/lib", "-rmillpond",
                  "-r#{__dir__}/scheduler", "-e", program, out: writing, err: File::NULL)
    reading.gets
    Process.kill(:INT, child)
    _, status = Timeout.timeout(SOON) { Process.wait2(child) }
    refute_predicate status, :success?
  end
end
