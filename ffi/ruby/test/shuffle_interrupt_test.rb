# frozen_string_literal: true

require_relative "helper"

# What interrupts and restarts leave of messages and garbage.
class ShuffleInterruptTest < MillpondTest
  def write(queue, number = 1)
    queue.write("t", { "n" => number.to_s })
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

  def test_a_server_that_restarts
    server = own_server
    queue = connect(server.url, timeout: 60).shuffle_queue("x")
    consumer = queue.consumer("g", "c")
    assert_nil consumer.read
    thread = in_thread { consumer.read(wait: Float::INFINITY) }
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
end
