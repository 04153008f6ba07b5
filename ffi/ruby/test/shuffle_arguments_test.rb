# frozen_string_literal: true

require_relative "helper"

# What the calls of shuffle queues refuse besides what ArgumentsTest has; nothing is sent.
class ShuffleArgumentsTest < MillpondTest
  INVALID = Millpond::InvalidArgumentError

  def setup
    @client = connect("memory:")
    @queue = @client.shuffle_queue("x")
    @consumer = @queue.consumer("g", "c")
  end

  def refused(kind, message, &call)
    error = assert_raises(kind, &call)
    assert_match message, error.message
    assert_equal 0, @queue.len
  end

  def test_fields
    refused(INVALID, /message 0 has 0 fields/) { @queue.write("t", {}) }
    refused(INVALID, /fields has more than 32768 items/) { @queue.write("t", [%w[a b]] * 32_769) }
    refused(TypeError, /fields\["n"\] must be a String, not Integer/) { @queue.write("t", { "n" => 1 }) }
    refused(TypeError, /the key :n of fields must be a String, not Symbol/) { @queue.write("t", n: "1") }
    refused(TypeError, /fields\[0\]\[1\] must be a String, not nil/) { @queue.write("t", [["a", nil]]) }
    refused(TypeError, /fields\[1\]\[0\] must be a String/) { @queue.write("t", [%w[a b], [3, "b"]]) }
    refused(TypeError, /fields\[0\] must be \[field, value\], not Array/) { @queue.write("t", [%w[a b c]]) }
    refused(TypeError, /fields\[0\] must be \[field, value\], not String/) { @queue.write("t", ["ab"]) }
    refused(TypeError, /fields must be a list.*not String/) { @queue.write("t", "ab") }
    refused(ZeroDivisionError, /divided by 0/) { @queue.write("t", Enumerator.new { 1 / 0 }) }
  end

  def test_messages
    refused(INVALID, /the shard key is empty/) { @queue.write("", { "a" => "b" }) }
    written = ["t", { "a" => "b" }]
    refused(TypeError, /messages\[1\] must be \[shard_key, fields\]/) { @queue.write_many([written, "t"]) }
    refused(TypeError, /messages\[0\]\[1\]\["a"\] must be/) { @queue.write_many([["t", { "a" => 1 }]]) }
    refused(TypeError, /messages\[1\]\[1\]\[0\]\[0\] must/) { @queue.write_many([written, ["t", [[1, "a"]]]]) }
    refused(TypeError, /messages must be a list/) { @queue.write_many("t") }
    refused(INVALID, /message 1 has 0 fields/) { @queue.write_many([written, ["t", {}]]) }
    refused(INVALID, /message 0 has 0 fields/) { @queue.write_many([["t", {}]]) }
  end

  def test_names
    refused(INVALID, /the name is empty/) { @client.shuffle_queue("").len }
    refused(INVALID, /name has 65537 bytes/) { @client.shuffle_queue("x" * 65_537).len }
    refused(TypeError, /group must be a String, not nil/) { @queue.consumer(nil, "c") }
    refused(INVALID, /group's name is empty/) { @queue.consumer("", "c").read }
    refused(INVALID, /consumer's name is empty/) { @queue.consumer("g", "").read(wait: 60) }
    refused(INVALID, /group's name is empty/) { @queue.pending_count("") }
  end

  def test_settings
    [[{ streams: 0 }, /1 to 65536 streams, not 0/], [{ streams: 2, streams_per_shard: 3 }, /a shard has 1 to 2/],
     [{ ttl: 0.5 }, /between a second and 100 years/],
     [{ ttl: Float::INFINITY }, /between a second and 100 years/]].each do |settings, told|
      refused(INVALID, told) { @client.shuffle_queue("x", **settings).write("t", { "a" => "b" }) }
    end
    refused(INVALID, /streams is 4294967296, which is out/) { @client.shuffle_queue("x", streams: 1 << 32) }
    refused(INVALID, /track_keys is :both; it has to be :global or :queue/) do
      @client.shuffle_queue("x", track_keys: :both)
    end
    refused(ArgumentError, /wrong number of arguments/) { @client.shuffle_queue("x", 4) }
    refused(ArgumentError, /unknown keyword/) { @client.shuffle_queue("x", shards: 4) }
    refused(TypeError, /max_deliveries must be an Int/) { @queue.consumer("g", "c", max_deliveries: nil) }
    assert_equal 0, @client.shuffle_queue("x", streams: 1).write("t", { "a" => "b" }).stream
  end

  def test_sizes
    [->(max) { @consumer.read_many(max) }, ->(max) { @consumer.messages(max: max) { flunk } },
     ->(max) { @consumer.reclaim(min_idle: 0, max: max) }, ->(max) { @queue.dead_letters(max: max) }].each do |call|
      [0, 10_001].each { |max| refused(INVALID, /1 to 10000/) { call.call(max) } }
    end
  end

  def test_times
    refused(TypeError, /min_idle must be a number/) { @consumer.reclaim(min_idle: nil, max: 1) }
    refused(INVALID, /the least idle time is over 100 years/) { @consumer.reclaim(min_idle: Float::INFINITY, max: 1) }
    refused(ArgumentError, /missing keyword/) { @consumer.reclaim(max: 1) }
  end

  def test_receipts
    %i[ack ack_and_delete ack_each ack_and_delete_each renew].each do |method|
      refused(TypeError, /messages must be a list/) { @consumer.public_send(method, "1-1") }
      refused(TypeError, /messages\[1\] must be a Message or a Receipt, not String/) do
        @consumer.public_send(method, [Millpond::Receipt.new(0, "1-1"), "1-1"])
      end
    end
    ["x", "1", "1-", "-1-1", "1-1-1", "1-1\n", "1-1\0", "18446744073709551616-0", "1_0-1", " 1-1"].each do |id|
      refused(INVALID, /messages\[0\]\.id is .*the form of 1700000000000-0/) do
        @consumer.ack(Millpond::Receipt.new(0, id))
      end
    end
    refused(TypeError, /messages\[0\]\.id must be a String/) { @consumer.ack(Millpond::Receipt.new(0, 5)) }
    refused(TypeError, /messages\[0\]\.stream must be an Int/) { @consumer.ack(Millpond::Receipt.new("0", "1-1")) }
    refused(INVALID, /messages\[0\]\.stream is -1/) { @consumer.ack(Millpond::Receipt.new(-1, "1-1")) }
    assert_equal 0, @consumer.ack(Millpond::Receipt.new(0, "18446744073709551615-18446744073709551615"))
  end

  def test_reasons_and_letters
    receipt = Millpond::Receipt.new(0, "1-1")
    refused(INVALID, /the reason is empty/) { @consumer.reject(receipt, "") }
    refused(TypeError, /letters\[0\] must be a DeadLetter or its id/) { @queue.dead_letters(after: 3) }
    refused(ArgumentError, /missing keyword/) { @queue.remove_idle_consumers }
  end

  # To show a field costs more than to write it.
  class Unseen < String
    def inspect
      raise "nobody asked for it"
    end
  end

  def test_nothing_is_shown_unless_it_is_wrong
    fields = { Unseen.new("a") => Unseen.new("b") }
    @queue.write("t", fields)
    @queue.write_many([["t", fields], ["t", fields.to_a]])
    @queue.write_tracked("t", fields, "a")
    assert_equal [[%w[a b]]] * 4, @consumer.read_many(9).map(&:fields)
  end

  def test_strings_that_change_during_a_call
    queue = @client.shuffle_queue(Changing.new("y"), streams: 1)
    queue.write(Changing.new("t"), { Changing.new("a") => Changing.new("b") })
    queue.write_many([[Changing.new("t"), [[Changing.new("a"), Changing.new("b")]]]])
    queue.write_tracked("t", { "a" => "b" }, Changing.new("a"))
    consumer = queue.consumer(Changing.new("g"), Changing.new("c"))
    assert_equal [[%w[a b]]] * 3, consumer.read_many(5).map(&:fields)
    assert queue.delete_tracked(Changing.new("b"))
    assert_equal 2, queue.pending_count(Changing.new("g"))
    assert_equal Millpond.shard(16, 2, "t"), Millpond.shard(16, 2, Changing.new("t"))
  end

  def test_what_is_given_is_not_changed
    fields = { "é".b => +"é" }
    written = [["t", fields.freeze].freeze].freeze
    @queue.write_many(written)
    assert_equal [Encoding::BINARY, Encoding::UTF_8], fields.first.map(&:encoding)
    refute_predicate fields.first[1], :frozen?
  end
end
