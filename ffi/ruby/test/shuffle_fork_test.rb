# frozen_string_literal: true

require_relative "helper"

# A shuffle queue on Redis works in every child of a fork, whatever its parent waits for.
class ShuffleForkTest < MillpondTest
  def works_in_a_child(used)
    queue = shuffle_queue_on(Servers.shared.url)
    consumer = queue.consumer("g", "c")
    kept = consumer.messages(wait: 60)
    if used
      queue.write("t", { "n" => "0" })
      assert_equal 1, kept.next.size
    end
    in_child do
      queue.write_many(numbered(100))
      child = queue.consumer("g", "child")
      batches = child.messages(max: 30, wait: 0.1).to_a
      assert_equal [100, 100], [batches.sum(&:size), batches.sum { |batch| child.ack(batch) }]
      assert_nil child.read(wait: 0.05)
      queue.write_tracked("t", { "job" => "j" }, "job")
      assert queue.delete_tracked("j")
    end
    assert_equal used ? 1 : 0, queue.pending_count("g")
    queue.write("t", { "n" => "7" })
    assert_equal [7], numbers(kept.next)
  end

  def test_a_child_from_before_the_first_use
    works_in_a_child(false)
  end

  def test_a_child_from_after_the_first_use
    works_in_a_child(true)
  end

  def test_forks_while_threads_wait
    client = connect(Servers.shared.url)
    queue = client.shuffle_queue(name_of_queue)
    threads = Array.new(4) { Thread.new { queue.consumer("g", "c").read(wait: 60) } }
    sleep 0.2
    own = client.shuffle_queue("#{name_of_queue}-child")
    5.times do
      in_child do
        assert_nil own.consumer("g", "c").read(wait: 0.02)
        writing = Thread.new do
          sleep 0.05
          own.write("t", { "n" => "1" })
        end
        assert_equal 1, own.consumer("g", "c").ack_and_delete(own.consumer("g", "c").read(wait: 10))
        writing.join
      end
    end
    assert threads.all?(&:alive?)
    queue.write_many(numbered(4))
    assert_equal [0, 1, 2, 3], numbers(threads.map(&:value)).sort
  end

  def embedded_queue_belongs_to_its_process(url)
    queue = connect(url).shuffle_queue("x")
    queue.write("t", { "n" => "1" })
    consumer = queue.consumer("g", "c")
    batches = consumer.messages(wait: 60)
    assert_equal 1, batches.next.size
    queue.write_tracked("t", { "job" => "j" }, "job", deadline: 5)
    garbage = queue.gc
    values = garbage.each
    assert_equal ["j"], values.next
    in_child do
      [-> { queue.len }, -> { queue.write("t", { "n" => "2" }) }, -> { consumer.read },
       -> { consumer.read(wait: 60) }, -> { batches.next }, -> { garbage.to_a }, -> { values.next }].each do |call|
        assert_raises(Millpond::ForkedError, &call)
      end
    end
    assert_equal [2, 1], [queue.len, queue.pending_count("g")]
    assert_raises(StopIteration) { values.next }
    assert_equal 1, garbage.deleted
  end

  def test_a_queue_in_memory_belongs_to_its_process
    embedded_queue_belongs_to_its_process("memory:")
  end

  def test_a_queue_on_a_file_belongs_to_its_process
    Dir.mktmpdir do |folder|
      embedded_queue_belongs_to_its_process("file:#{folder}/data")
      close_clients
    end
  end

  # Finalizers run when a child ends by itself; they leave alone what is the parent's.
  def test_a_child_that_ends_by_itself
    program = <<~'PROGRAM'
      queues = [ARGV[0], "memory:"].map do |url|
        Millpond.connect(url).shuffle_queue(ARGV[1], track_keys: :queue)
      end
      queues.each { |queue| queue.write("t", { "n" => "1" }) }
      queues.each { |queue| queue.write_tracked("t", { "job" => "j" }, "job", deadline: 5) }
      kept = queues.map { |queue| [queue.consumer("g", "c"), queue.gc.each.tap(&:next)] }
      loops = kept.map { |consumer, _| consumer.messages(max: 2, wait: 60).tap(&:next) }
      child = fork do
        queues[0].len
        GC.start
        exit 7
      end
      Process.wait(child)
      raise $?.inspect unless $?.exitstatus == 7
      queues.each { |queue| queue.write("t", { "n" => "2" }) }
      print loops.map { |batches| batches.next.first["n"] }, kept.map { |_, values| values.to_a }
    PROGRAM
    output, status = run_ruby("-rmillpond", "-e", program, Servers.shared.url, name_of_queue, seconds: 30)
    assert_equal ['["2", "2"][[["j"]], [["j"]]]', true], [output, status.success?]
  end
end
