# frozen_string_literal: true

require "redis"
require_relative "helper"

# What each call of a shuffle queue does, on every backend.
class ShuffleTest < MillpondTest
  on_every_backend :write_read_ack do |url|
    queue = shuffle_queue_on(url)
    receipt = queue.write("tenant-7", { "task" => "resize", "image" => "a.png" })
    assert_includes Millpond.shard(16, 2, "tenant-7"), receipt.stream
    consumer = queue.consumer("g", "c")
    message = consumer.read
    assert_equal [%w[task resize], %w[image a.png]], message.fields
    assert_equal [receipt.stream, receipt.id, 1], [message.stream, message.id, message.deliveries]
    assert_match(/\A\d{13}-\d+\z/, message.id)
    assert_nil consumer.read
    assert_equal 1, queue.pending_count("g")
    assert_equal 1, consumer.ack(message)
    assert_equal 0, consumer.ack([message, receipt])
    assert_equal [1, 0, 0], [queue.len, queue.backlog, queue.pending_count("g")]
  end

  on_every_backend :what_can_be_acknowledged do |url|
    queue = shuffle_queue_on(url, streams: 1)
    receipts = queue.write_many(numbered(7))
    consumer = queue.consumer("g", "c")
    messages = consumer.read_many(10)
    assert_equal 1, consumer.ack_and_delete(messages[0])
    assert_equal 1, consumer.ack_and_delete(receipts[1])
    assert_equal 2, consumer.ack_and_delete([messages[2], Millpond::Receipt.new(0, receipts[3].id)])
    assert_equal 2, consumer.ack_and_delete(messages[4, 2].lazy.map(&:receipt))
    assert_equal 0, consumer.ack_and_delete([])
    assert_equal [1, 1], [queue.len, queue.pending_count("g")]
  end

  on_every_backend :every_kind_of_fields do |url|
    queue = shuffle_queue_on(url, streams: 1)
    pair = %w[a 1].freeze
    [
      { "b" => "\xFF\x00".b, "a" => "é" }, [%w[a 1], %w[a 2]], [pair].freeze, { "" => "" },
      %w[c b].each_with_index.map { |field, index| [field, index.to_s] }.each,
      Hash.new { |hash, key| hash[key] = "?" }.merge("x" => "long" * 10_000)
    ].each { |fields| queue.write("tenant", fields) }
    assert_equal [
      [["b", "\xFF\x00".b], %w[a é]], [%w[a 1], %w[a 2]], [%w[a 1]], [["", ""]],
      [%w[c 0], %w[b 1]], [["x", "long" * 10_000]]
    ], queue.consumer("g", "c").read_many(10).map(&:fields)
  end

  on_every_backend :the_encoding_of_results do |url|
    queue = shuffle_queue_on(url, streams: 1)
    2.times { queue.write("t", { "é" => "é", "b" => "\xFF".b }) }
    message = queue.consumer("g", "c").read
    assert_equal [Encoding::UTF_8] * 3 + [Encoding::BINARY], message.fields.flatten.map(&:encoding)
    assert_equal ["é", "é", "\xFF".b], [message["é"], message["é".b], message.field("b")]
    next if url.start_with?("file:")

    binary = connect(url == "memory:" ? "memory:#{name_of_queue}" : url, encoding: Encoding::BINARY)
    queue = binary.shuffle_queue("é#{name_of_queue}", streams: 1, track_keys: :queue)
    queue.write_tracked("é", { "é" => "é" }, "é", deadline: 5)
    consumer = queue.consumer("g", "é", max_deliveries: 1)
    message = consumer.read
    assert_equal [["é".b, "é".b]], message.fields
    assert_equal "é".b, message["é"]
    assert_equal 1, consumer.reclaim(min_idle: 0, max: 1).dead
    assert_equal "é".b, queue.dead_letters.first.consumer
    assert_equal [["é".b]], queue.gc.to_a
  end

  on_every_backend :many_messages_are_placed_like_single_ones do |url|
    client = connect(url)
    queue = client.shuffle_queue(name_of_queue, streams: 5, streams_per_shard: 2)
    receipts = queue.write_many(numbered(60).each)
    single = client.shuffle_queue("#{name_of_queue}-single", streams: 5, streams_per_shard: 2)
    assert_equal receipts.map(&:stream), numbered(60).map { |key, fields| single.write(key, fields).stream }
    seen = queue.consumer("g", "c").read_many(1000)
    assert_equal [*0...60], numbers(seen).sort
    assert_equal receipts.sort_by(&:to_a), seen.map(&:receipt).sort_by(&:to_a)
    assert_equal [], queue.write_many([])
  end

  def test_more_messages_than_a_step_takes
    queue = shuffle_queue_on(Servers.shared.url)
    assert_equal 10_001, queue.write_many(numbered(10_001)).size
    consumer = queue.consumer("g", "c")
    messages = consumer.read_many(10_000) + consumer.read_many(10_000)
    assert_equal [*0..10_000], numbers(messages).sort
    assert_equal 10_001, consumer.ack_and_delete(messages)
    assert_equal 0, queue.len
  end

  on_every_backend :groups_and_consumers do |url|
    queue = shuffle_queue_on(url)
    queue.write_many(numbered(10))
    seen = queue.consumer("g", "one").read_many(4) + queue.consumer("g", "other").read_many(100)
    assert_equal [*0...10], numbers(seen).sort
    assert_equal 10, queue.consumer("another", "one").read_many(100).size
  end

  on_every_backend :a_preferred_stream do |url|
    queue = shuffle_queue_on(url, streams: 4, streams_per_shard: 1)
    receipts = queue.write_many(numbered(40))
    queue.consumer("g", "c").read_many(4) # the group joins all streams
    receipts.map(&:stream).uniq.each do |stream|
      assert_equal stream, queue.consumer("g", "c", prefer_stream: stream).read.stream
    end
  end

  def test_the_default_stream
    Redis.new(url: Servers.shared.url).xadd(name_of_queue, { "n" => "1" }, id: "5-1")
    queue = shuffle_queue_on(Servers.shared.url)
    assert_nil queue.consumer(name_of_queue, "c").read
    consumer = queue.consumer(name_of_queue, "c", default_stream: true)
    assert_equal Millpond::Message.new(nil, "5-1", [%w[n 1]]), consumer.read
    assert_equal 1, consumer.renew(Millpond::Receipt.new(nil, "5-1"))
    assert_equal 1, consumer.ack(Millpond::Receipt.new(nil, "5-1"))
  end

  on_every_backend :what_a_silent_consumer_left do |url|
    queue = shuffle_queue_on(url)
    queue.write_many(numbered(3))
    silent = queue.consumer("g", "silent")
    taken = silent.read_many(3)
    assert_equal 3, silent.renew(taken)
    other = queue.consumer("g", "other", max_deliveries: 3)
    assert_equal [[], 0], other.reclaim(min_idle: 60, max: 100).to_a
    messages, dead = other.reclaim(min_idle: 0, max: 2)
    assert_equal [[2, 2], 0], [messages.map(&:deliveries), dead]
    assert_equal 1, silent.renew(taken)
    assert_equal 1, other.ack(messages[0])
    again = queue.consumer("g", "other", max_deliveries: 2).reclaim(min_idle: 0, max: 100)
    assert_equal [[2], 1], [again.messages.map(&:deliveries), again.dead]
    letter, *others = queue.dead_letters(max: 10)
    assert_empty others
    assert_equal [messages[1].receipt, messages[1].fields], [letter.message.receipt, letter.message.fields]
    assert_equal ["g", "other", 2, 2],
                 [letter.group, letter.consumer, letter.deliveries, letter.message.deliveries]
    assert_match(/\A\d+-\d+\z/, letter.id)
  end

  on_every_backend :messages_are_rejected_redriven_and_released do |url|
    queue = shuffle_queue_on(url)
    queue.write_many(numbered(3))
    consumer = queue.consumer("g", "c")
    other = queue.consumer("g", "other")
    messages = consumer.read_many(3)
    assert_equal 0, other.reject(messages, "rejected: not its own")
    assert_equal 1, consumer.reject(messages[0], "rejected: nö")
    assert_equal 1, consumer.reject(messages.first(2), "exhausted")
    first, second = queue.dead_letters
    assert_equal ["rejected: nö", "exhausted"], [first.reason, second.reason]
    assert_equal [[second.id], []], [first, second.id].map { |letter| queue.dead_letters(after: letter).map(&:id) }
    assert_equal [false, false, true], consumer.ack_each(messages)
    redriven = queue.redrive([second, second.id, first.id])
    assert_equal [false, true, false], redriven.map(&:nil?)
    assert_equal [nil], queue.redrive(first)
    again = consumer.read_many(9)
    assert_equal redriven.compact.map(&:id).sort, again.map(&:id).sort
    assert_equal 2, consumer.release(again, min_idle: 60)
    reclaimed = other.reclaim(min_idle: 60, max: 9).messages
    assert_equal [1, 1], reclaimed.map(&:deliveries)
    assert_equal 1, other.release(reclaimed[0], min_idle: 60, delay: 30)
    assert_equal [true, true], other.ack_and_delete_each(reclaimed)
    assert_equal [[], 0], [other.ack_each([]), queue.remove_idle_consumers(min_idle: 60)]
    ["", "x" * 4097].each do |wrong|
      assert_raises(Millpond::InvalidArgumentError) { consumer.reject(messages[0], wrong) }
    end
    assert_raises(Millpond::InvalidArgumentError) { consumer.release(messages[0], min_idle: 1, delay: 2) }
  end

  on_every_backend :dead_letters_stay_until_they_are_deleted do |url|
    queue = shuffle_queue_on(url, ttl: 60, dead_ttl: 86_400)
    queue.write_many(numbered(4))
    consumer = queue.consumer("g", "c", max_deliveries: 1)
    consumer.read_many(4)
    assert_equal 4, consumer.reclaim(min_idle: 0, max: 10).dead
    letters = queue.dead_letters
    assert_equal 4, letters.size
    assert_equal 1, queue.delete_dead_letters(letters[0])
    assert_equal 1, queue.delete_dead_letters(letters[1].id)
    assert_equal 2, queue.delete_dead_letters(letters + [letters[3].id])
    assert_equal 0, queue.delete_dead_letters([])
    assert_empty queue.dead_letters
    assert_raises(TypeError) { queue.delete_dead_letters([3]) }
    assert_raises(Millpond::InvalidArgumentError) { queue.delete_dead_letters("x") }
  end

  on_every_backend :a_queue_keeps_its_size_until_it_is_resized do |url|
    client = connect(url)
    name = "{#{name_of_queue}}"
    client.shuffle_queue(name, streams: 5).write("t", { "n" => "1" })
    error = assert_raises(Millpond::InvalidArgumentError) do
      client.shuffle_queue(name, streams: 3).write("t", { "n" => "2" })
    end
    assert_match(/has 5 streams, .* given 3:/, error.message)
    queue = client.shuffle_queue(name)
    assert_includes Millpond.shard(5, 2, "tenant"), queue.write("tenant", { "n" => "3" }).stream
    assert_equal 64, queue.resize(64)
    assert_includes Millpond.shard(64, 2, "tenant"), queue.write("tenant", { "n" => "4" }).stream
    assert_equal 64, queue.resize(1)
    assert_equal 0, queue.write("tenant", { "n" => "5" }).stream
    assert_raises(Millpond::InvalidArgumentError) { queue.resize(0) }
  end

  on_every_backend :stats do |url|
    queue = shuffle_queue_on(url, streams: 3, streams_per_shard: 1)
    assert_equal [[[0, 0, 0, nil]], 0, 0, 0], stats_of(queue)
    queue.write_many(numbered(12))
    consumer = queue.consumer("g", "c")
    consumer.ack(consumer.read)
    taken = consumer.read_many(2)
    streams, *sums = stats_of(queue)
    assert_equal [12, 2, 9], sums
    assert_equal sums, streams.map { |stream| stream[0, 3] }.transpose.map(&:sum)
    waited_for = streams.each_index.select { |number| streams[number][3] }
    assert_equal taken.map(&:stream).uniq.sort, waited_for
    assert_operator streams.map(&:last).compact.max, :<, 60
    assert_kind_of Float, streams.map(&:last).compact.first
  end

  def stats_of(queue)
    stats = queue.stats("g")
    [stats.streams.map(&:to_a), stats.len, stats.pending, stats.lag]
  end

  def test_what_is_not_written_to_lives_for_its_time
    receipt = shuffle_queue_on(Servers.shared.url, ttl: 90.5).write("t", { "n" => "1" })
    left = Redis.new(url: Servers.shared.url).pttl("#{name_of_queue}:s#{receipt.stream}")
    assert_in_delta 85_000, left, 5_501
  end

  on_every_backend :the_loop do |url|
    queue = shuffle_queue_on(url)
    queue.write_many(numbered(10))
    consumer = queue.consumer("g", "c")
    seen = []
    result = consumer.messages(max: 4) do |batch|
      seen << batch
      assert_equal batch.size, queue.pending_count("g")
      consumer.ack_and_delete(batch)
    end
    assert_same consumer, result
    assert_equal [4, 4, 2], seen.map(&:size)
    assert_equal [*0...10], numbers(seen.flatten).sort
    consumer.messages { flunk "there is nothing left" }
  end

  on_every_backend :a_loop_that_is_left_keeps_its_messages do |url|
    queue = shuffle_queue_on(url)
    queue.write_many(numbered(3))
    consumer = queue.consumer("g", "c")
    assert_raises(ZeroDivisionError) { consumer.messages(max: 1) { raise ZeroDivisionError } }
    consumer.messages(max: 1) { break }
    catch(:out) { consumer.messages(max: 1) { throw :out } }
    assert_equal [3, []], [queue.pending_count("g"), consumer.messages.to_a]
    assert_equal [0, 1, 2], numbers(consumer.reclaim(min_idle: 0, max: 100).messages).sort
  end

  on_every_backend :the_loop_as_an_enumerator do |url|
    queue = shuffle_queue_on(url)
    queue.write_many(numbered(5))
    batches = queue.consumer("g", "c").messages(max: 2)
    assert_equal 2, batches.next.size
    assert_equal 2, queue.pending_count("g")
    assert_equal [2, 1], [batches.next.size, batches.next.size]
    assert_raises(StopIteration) { batches.next }
    queue.write_many(numbered(2))
    assert_equal [1, 1], queue.consumer("g", "c").messages(max: 1).map(&:size)
  end

  def test_errors_name_the_operation
    Redis.new(url: Servers.shared.url).set("#{name_of_queue}:meta", "x")
    queue = shuffle_queue_on(Servers.shared.url)
    consumer = queue.consumer("g", "c")
    { "shuffle.write" => -> { queue.write("t", { "a" => "b" }) },
      "shuffle.read" => -> { consumer.read(wait: 60) } }.each do |operation, call|
      error = assert_raises(Millpond::WrongTypeError, &call)
      assert_equal operation, error.operation
      assert_match(/#{name_of_queue}:meta/, error.message)
    end
    assert_raises(Millpond::WrongTypeError) { consumer.messages(wait: 60) { flunk } }
  end

  def test_a_file_is_durable
    Dir.mktmpdir do |folder|
      taken = Millpond.connect("file:#{folder}/data") do |client|
        queue = client.shuffle_queue("x")
        queue.write_many(numbered(3))
        queue.consumer("g", "c").read
      end
      Millpond.connect("file:#{folder}/data") do |client|
        queue = client.shuffle_queue("x")
        assert_equal [3, 1], [queue.len, queue.pending_count("g")]
        assert_equal 1, queue.consumer("g", "c").ack(taken)
      end
    end
  end
end
