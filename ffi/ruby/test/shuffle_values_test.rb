# frozen_string_literal: true

require_relative "helper"

# Messages and receipts are values: they compare, hash and travel.
class ShuffleValuesTest < MillpondTest
  ID = "1700000000000-3"

  def made(stream: 3, id: ID, fields: [%w[a b]], deliveries: 1)
    Millpond::Message.new(stream, id, fields, deliveries)
  end

  def test_what_is_equal
    [made, made(stream: nil, deliveries: 2), Millpond::Receipt.new(3, ID)].each do |value|
      copy = Marshal.load(Marshal.dump(value))
      assert_equal value, copy
      assert_equal value.hash, copy.hash
      assert_equal 1, [value, copy].uniq.size
    end
    assert_equal Millpond::Receipt.new(3, ID), made.receipt
  end

  def test_what_differs
    [made(stream: 4), made(id: "1700000000000-4"), made(fields: [%w[a c]]), made(deliveries: 2),
     made.receipt, nil].each { |other| refute_equal made, other }
    refute_equal Millpond::Receipt.new(3, ID), Millpond::Receipt.new(nil, ID)
  end

  def test_fields
    twice = made(fields: [%w[a 1], ["é", "2"], %w[a 3]])
    assert_equal ["1", "2", "2", nil], [twice["a"], twice["é"], twice.field("é".b), twice["b"]]
    [:a, nil, 1].each { |name| assert_raises(TypeError) { twice[name] } }
  end

  def test_what_a_message_is_made_of_stays_its_makers
    fields = [[+"a", +"b"]]
    message = made(fields: fields)
    fields[0][1] = "c"
    fields << %w[d e]
    assert_equal [%w[a b]], message.fields
    [message.fields, message.fields[0]].each { |list| assert_predicate list, :frozen? }
  end

  def test_what_comes_from_a_queue_does_not_change
    queue = shuffle_queue_on("memory:")
    receipt = queue.write("t", { "a" => "b" })
    consumer = queue.consumer("g", "c", max_deliveries: 1)
    message = consumer.read
    values = [receipt, message, message.fields, message.fields[0], message.receipt, queue.stats("g"),
              queue.stats("g").streams, consumer.reclaim(min_idle: 0, max: 1), queue.dead_letters[0]]
    values.each { |value| assert_predicate value, :frozen? }
  end

  def test_the_shard_of_a_tenant
    assert_equal [15, 13, 2, 12], Millpond.shard(16, 4, "tuna")
    assert_equal [*0...65_536], Millpond.shard(65_536, 65_536, "tuna").sort
    [[0, 1, "x"], [4, 0, "x"], [4, 5, "x"], [4, 2, ""], [65_537, 1, "x"], [4, (1 << 32) - 1, "x"],
     [1 << 32, 1, "x"], [-1, 1, "x"]].each do |arguments|
      assert_raises(Millpond::InvalidArgumentError, arguments.inspect) { Millpond.shard(*arguments) }
    end
    [["4", 1, "x"], [4, nil, "x"], [4, 1, :x]].each do |arguments|
      assert_raises(TypeError) { Millpond.shard(*arguments) }
    end
  end

  def test_keys_for_connections_of_your_own
    require "redis"
    queue = shuffle_queue_on(Servers.shared.url)
    queue.write_tracked("t", { "job" => "j" }, "job")
    _, meta, notifications, dead = Millpond::ShuffleQueue.keys(name_of_queue)
    cancelation, deadlines, garbage = Millpond::ShuffleQueue.tracking_keys(name_of_queue, track_keys: :queue)
    kinds = [meta, notifications, dead, cancelation, deadlines, garbage].map do |key|
      Redis.new(url: Servers.shared.url).type(key)
    end
    assert_equal %w[hash stream none hash zset none], kinds
    assert_equal "meta:cancelation", Millpond::ShuffleQueue.tracking_keys("x").first
    assert_raises(Millpond::InvalidArgumentError) { Millpond::ShuffleQueue.tracking_keys("x", track_keys: 1) }
  end
end
