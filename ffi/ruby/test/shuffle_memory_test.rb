# frozen_string_literal: true

require_relative "helper"

# Nothing grows with the number of calls to a shuffle queue.
class ShuffleMemoryTest < MillpondTest
  WRITTEN = Array.new(10) { |number| ["tenant-#{number}", { "n" => number.to_s, "more" => "x" * 2_000 }] }.freeze

  # About fifteen calls a turn.
  def use(queue, turns)
    consumer = queue.consumer("g", "c")
    turns.times do
      queue.write_many(WRITTEN)
      message = consumer.read
      messages = consumer.read_many(9)
      consumer.renew(messages)
      consumer.ack(message)
      consumer.reclaim(min_idle: 0, max: 2)
      consumer.messages(max: 1) { break }
      consumer.ack_and_delete(messages << message)
      queue.write_tracked("t", { "job" => "j" }, "job", deadline: 5)
      queue.gc.to_a
      queue.delete_tracked("j")
      consumer.ack_and_delete(consumer.read)
      queue.stats("g")
      queue.dead_letters
      begin
        queue.write("", { "a" => "b" })
      rescue Millpond::InvalidArgumentError
        nil
      end
    end
    assert_equal 0, queue.backlog
  end

  def assert_calls_do_not_grow(turns, queue)
    use(queue, turns / 10)
    assert_does_not_grow { use(queue, turns) }
  end

  def test_calls
    assert_calls_do_not_grow(600, shuffle_queue_on("memory:", streams: 4))
  end

  def test_calls_to_a_server
    assert_calls_do_not_grow(350, shuffle_queue_on(Servers.shared.url, streams: 4))
  end

  def test_queues_consumers_and_loops
    client = connect("memory:")
    client.shuffle_queue("x" * 4_000).write_tracked("t", { "job" => "j" }, "job", deadline: 5)
    make = lambda do |times|
      times.times do |number|
        # All that is made here has the long name.
        queue = client.shuffle_queue("x" * 4_000)
        queue.gc.first
        consumer = queue.consumer("g", "c")
        batches = consumer.messages(wait: 60)
        queue.write("t", { "n" => "1" })
        consumer.ack_and_delete(batches.next) if number % 100 == 0
        consumer.messages { |batch| consumer.ack_and_delete(batch) }
      end
    end
    make.call(300)
    assert_does_not_grow { make.call(3_000) }
  end

  # What comes with an interrupt is freed too.
  def test_interrupted_calls
    queue = shuffle_queue_on("memory:")
    queue.write("t", { "more" => "x" * 200_000 })
    consumer = queue.consumer("g", "c")
    consumer.read
    interrupted = 0
    calling = Thread.handle_interrupt(IndexError => :never) do
      Thread.new do
        loop do
          Thread.handle_interrupt(IndexError => :immediate) { loop { consumer.reclaim(min_idle: 0, max: 1) } }
        rescue IndexError
          interrupted += 1
        end
      end
    end
    interrupt = lambda do |times|
      until interrupted >= times
        calling.raise(IndexError)
        sleep 0.0005
      end
    end
    interrupt.call(300)
    # A thousand messages would be 200 MB; some tens are always there as Ruby's garbage.
    assert_does_not_grow(10 * GROWTH_BYTES_MAX) { interrupt.call(interrupted + 1_000) }
  ensure
    calling.kill.join
  end
end
