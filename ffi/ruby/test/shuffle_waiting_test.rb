# frozen_string_literal: true

require_relative "helper"

# A read that waits lets other threads work, sees what comes, and is ended by what interrupts it.
class ShuffleWaitingTest < MillpondTest
  FOR_EVER = Float::INFINITY
  WAITS = {
    read: ->(consumer) { [consumer.read(wait: FOR_EVER)] },
    read_many: ->(consumer) { consumer.read_many(10, wait: FOR_EVER) },
    messages: ->(consumer) { consumer.messages(wait: FOR_EVER).first }
  }.freeze

  def write(queue, number = 1)
    queue.write("t", { "n" => number.to_s })
  end

  on_every_backend :waiting_ends do |url|
    consumer = shuffle_queue_on(url).consumer("g", "c")
    [-> { consumer.read(wait: 0.1).to_a }, -> { consumer.read_many(9, wait: 1r / 10) },
     -> { consumer.messages(max: 1, wait: 0.1).to_a }].each do |wait|
      took = seconds { assert_equal [], wait.call }
      assert_includes 0.1..SOON, took
    end
    assert_operator seconds { consumer.read(wait: 0) }, :<, SOON
  end

  WAITS.each do |how, wait|
    on_every_backend :"#{how}_sees_what_comes" do |url|
      queue = shuffle_queue_on(only_woken(url))
      consumer = queue.consumer("g", "c")
      thread = in_thread { Array.new(3) { numbers(wait.call(consumer)) }.flatten }
      3.times do |number|
        write(queue, number)
        wait_until { queue.pending_count("g") == number + 1 }
        sleep 0.02 # it waits again
      end
      assert_equal [0, 1, 2], thread.value
    end

    on_every_backend :"ctrl_c_ends_#{how}" do |url|
      queue = shuffle_queue_on(url)
      consumer = queue.consumer("g", "c")
      took = seconds do
        assert_raises(Interrupt) do
          once_it_waits { Process.kill(:INT, Process.pid) }
          wait.call(consumer)
        end
      end
      assert_operator took, :<, SOON
      write(queue)
      assert_equal [1], numbers(wait.call(consumer))
    end

    on_every_backend :"timeout_ends_#{how}" do |url|
      consumer = shuffle_queue_on(url).consumer("g", "c")
      took = seconds do
        assert_raises(Timeout::Error) { Timeout.timeout(0.1) { wait.call(consumer) } }
      end
      assert_operator took, :<, SOON
    end

    define_method(:"test_killing_and_raising_end_#{how}") do
      consumer = shuffle_queue_on(Servers.shared.url).consumer("g", "c")
      killed = in_thread { wait.call(consumer) }
      raised = in_thread { wait.call(consumer) }
      killed.kill
      raised.raise(IndexError, "from another thread")
      assert_same killed, killed.join(SOON)
      assert_equal "from another thread", assert_raises(IndexError) { raised.value }.message
    end

    define_method(:"test_closing_ends_#{how}") do
      client = connect(Servers.shared.url)
      consumer = client.shuffle_queue(name_of_queue).consumer("g", "c")
      thread = in_thread { wait.call(consumer) }
      client.close
      assert_raises(Millpond::ClosedError) { Timeout.timeout(SOON) { thread.value } }
    end
  end

  # Whatever an interrupt hits, each message was seen or can be reclaimed, and none is seen twice.
  on_every_backend :an_interrupt_loses_no_message do |url|
    queue = shuffle_queue_on(url)
    consumer = queue.consumer("g", "c")
    seen = []
    hits = 0
    done = false
    consume = lambda do
      Thread.handle_interrupt(IndexError => :immediate) do
        consumer.messages(max: 3, wait: 0.02) { |batch| seen.concat(batch) }
      end
    rescue IndexError
      hits += 1
    end
    # A thread inherits the mask of its creator.
    thread = Thread.handle_interrupt(IndexError => :never) do
      Thread.new { consume.call until done && queue.stats("g").lag.zero? }
    end
    200.times do |number|
      write(queue, number)
      thread.raise(IndexError) if (number % 3).zero?
    end
    done = true
    Timeout.timeout(60) { thread.join }
    left = queue.consumer("g", "other").reclaim(min_idle: 0, max: 1000).messages
    left = left.reject { |message| seen.any? { |one| one.receipt == message.receipt } }
    assert_equal [*0...200], numbers(seen + left).sort
    assert_operator hits, :>, 10
  end

  # Whatever an interrupt hits, the same object goes on, and each value was seen before it is gone.
  on_every_backend :an_interrupt_loses_no_garbage do |url|
    queue = shuffle_queue_on(url)
    seen = []
    hits = 0
    deleted = 0
    done = false
    collect = lambda do |garbage|
      Thread.handle_interrupt(IndexError => :immediate) { garbage.each { |batch| seen.concat(batch) } }
      deleted += garbage.deleted
    rescue IndexError
      hits += 1
      retry
    end
    thread = Thread.handle_interrupt(IndexError => :never) do
      Thread.new { collect.call(queue.gc) until done }
    end
    values = Array.new(400) do |number|
      queue.write_tracked("t", { "job" => number.to_s }, "job", deadline: 1_000_000_000)
      thread.raise(IndexError)
      number.to_s
    end
    done = true
    assert_same thread, thread.join(60)
    collect.call(queue.gc)
    assert_equal values, seen.uniq.sort_by(&:to_i)
    assert_operator hits, :>, 10
    # An interrupted call may have deleted what it could not count any more.
    assert_includes 1..400, deleted
  end

  # It is not known when the program lets it through.
  WAITS.each do |how, wait|
    define_method(:"test_an_interrupt_that_is_held_back_cancels_#{how}") do
      consumer = shuffle_queue_on("memory:").consumer("g", "c")
      thread = Thread.new do
        Thread.handle_interrupt(IndexError => :never) do
          Thread.current.raise(IndexError, "held back")
          2.times { assert_raises(Millpond::CancelledError) { wait.call(consumer) } }
        end
        flunk "it comes here"
      rescue IndexError => error
        error.message
      end
      assert_same thread, thread.join(SOON)
      assert_equal "held back", thread.value
    end
  end

  def test_interrupts_while_a_server_hangs
    server = own_server
    queue = connect(server.url, timeout: 60).shuffle_queue("x")
    write(queue)
    server.run("stop")
    [-> { write(queue, 2) }, -> { queue.consumer("g", "c").read }, -> { queue.gc.to_a }].each do |call|
      took = seconds { assert_raises(Timeout::Error) { Timeout.timeout(0.1) { call.call } } }
      assert_operator took, :<, SOON
    end
    server.run("cont")
    assert write(queue, 3)
  end

  def test_a_server_that_restarts
    server = own_server
    queue = connect(server.url, timeout: 60).shuffle_queue("x")
    consumer = queue.consumer("g", "c")
    assert_nil consumer.read
    thread = in_thread { consumer.read(wait: FOR_EVER) }
    server.run("kill")
    server.run("restart")
    error = nil
    begin
      write(queue)
    rescue Millpond::Error => error
      write(queue)
    end
    message = begin
      thread.value
    rescue Millpond::Error => lost
      assert_includes %i[later unknown], lost.retry
      consumer.read(wait: 10) || consumer.reclaim(min_idle: 0, max: 1).messages.first
    end
    assert_equal "1", message["n"], error.inspect
  end

  on_every_backend :many_threads_wait_and_each_gets_one do |url|
    queue = shuffle_queue_on(url)
    threads = Array.new(5) { Thread.new { queue.consumer("g", "c").read(wait: 30) } }
    sleep 0.1
    queue.write_many(numbered(5))
    assert_equal [*0...5], numbers(threads.map(&:value)).sort
  end

  def test_a_loop_that_is_an_enumerator_is_for_one_thread
    batches = shuffle_queue_on("memory:").consumer("g", "c").messages(wait: FOR_EVER)
    thread = in_thread { batches.next }
    assert_raises(FiberError) { batches.next }
    thread.kill.join
  end

  # A loop deletes what it has returned itself, and nothing else.
  on_every_backend :a_loop_over_garbage_is_its_threads_own do |url|
    queue = shuffle_queue_on(url)
    queue.write_tracked("t", { "job" => "j" }, "job", deadline: 1_000_000_000)
    garbage = queue.gc
    thread = in_thread { garbage.each { sleep } }
    wait_until { thread.status == "sleep" && garbage.scanned.positive? }
    assert_equal ["j"], garbage.first
    thread.kill.join
    assert_equal [["j"]], garbage.to_a
  end

  on_every_backend :a_program_ends_although_threads_wait do |url|
    program = <<~'PROGRAM'
      queue = Millpond.connect(ARGV[0]).shuffle_queue(ARGV[1])
      Thread.new { queue.consumer("g", "c").read(wait: Float::INFINITY) }
      Thread.new { queue.consumer("g", "c").messages(wait: Float::INFINITY) { } }
      other = Millpond.connect("memory:").shuffle_queue("x").consumer("g", "c")
      Thread.new { loop { other.ack([other.read].compact) } }
      sleep 0.2
      print "end"
    PROGRAM
    output, status = run_ruby("-rmillpond", "-e", program, url, name_of_queue, seconds: 30)
    assert_equal ["end", true], [output, status.success?]
  end
end
