# frozen_string_literal: true

require "bigdecimal"
require_relative "helper"

# What the calls of icks and the options of a client refuse besides what ArgumentsTest has; nothing is sent.
class IckArgumentsTest < MillpondTest
  def setup
    @ick = connect("memory:").ick("x")
  end

  def refused(kind, message, &call)
    error = assert_raises(kind, &call)
    assert_match message, error.message
    assert_nil @ick.stats
  end

  def test_pairs
    refused(TypeError, /pairs must be a list.*not String/) { @ick.add("a") }
    refused(TypeError, /pairs must be a list.*not a Hash/) { @ick.add({ "a" => 1 }) }
    refused(TypeError, /pairs\[1\] must be \[score, member\].*not Integer/) { @ick.add(["a", 7]) }
    refused(TypeError, /pairs\[0\] must be \[score, member\]/) { @ick.add([[1, "a", 2]]) }
    refused(TypeError, /pairs\[0\]\[0\] must be a number or nil, not String/) { @ick.add([%w[1 a]]) }
    refused(TypeError, /pairs\[0\]\[0\] must be a number or nil, not TrueClass/) { @ick.add([[true, "a"]]) }
    refused(TypeError, /pairs\[1\]\[1\] must be a String, not Symbol/) { @ick.add([[1, "a"], [2, :b]]) }
    refused(TypeError, /pairs\[0\]\[1\] must be a String, not nil/) { @ick.add([[1, nil]]) }
  end

  def test_scores
    refused(Millpond::InvalidArgumentError, /score 1 is NaN/) { @ick.add([[1, "a"], [Float::NAN, "b"]]) }
    refused(Millpond::InvalidArgumentError, /score 0 is NaN/) { @ick.add([[BigDecimal("NaN"), "b"]]) }
    refused(Millpond::InvalidArgumentError, /pairs\[0\]\[0\] is .*no real number/) { @ick.add([[1i, "a"]]) }
    refused(Millpond::InvalidArgumentError, /pairs\[0\]\[0\] is beyond/) { @ick.add([[10**400, "a"]]) }
    [10r**400, -10r**400, BigDecimal("1e400"), BigDecimal("-1e400")].each do |score|
      refused(Millpond::InvalidArgumentError, /pairs\[1\]\[0\] is beyond/) { @ick.add([[1, "a"], [score, "b"]]) }
    end
    refused(Millpond::InvalidArgumentError, /member 0 has \d+ bytes/) { @ick.add([[1, "x" * (1 << 29)]]) }
    @ick.add([[BigDecimal("1.5"), "a"], [BigDecimal("Infinity"), "b"], [10r**300, "c"]])
    assert_equal [["a", 1.5], ["c", 1e300], ["b", Float::INFINITY]], @ick.peek(3)
  end

  def test_members
    refused(TypeError, /members must be a list/) { @ick.commit("a") }
    refused(TypeError, /members\[1\] must be a String, not nil/) { @ick.commit(["a", nil]) }
  end

  def test_sizes
    %i[reserve exchange peek each_batch].each do |method|
      refused(TypeError, /max must be an Integer, not nil/) { @ick.public_send(method, nil) }
    end
    refused(Millpond::InvalidArgumentError, /10\^17/) { @ick.reserve(10**17) }
    refused(Millpond::InvalidArgumentError, /set is :both/) { @ick.peek(1, set: :both) }
  end

  def test_times
    refused(TypeError, /ttl must be a number/) { @ick.lease(ttl: nil) }
    refused(Millpond::InvalidArgumentError, /ttl has to be longer/) { @ick.lease(ttl: 0) }
    refused(Millpond::InvalidArgumentError, /a day/) { @ick.lease(ttl: 86_401) }
  end

  def test_names
    client = connect("memory:")
    refused(TypeError, /name must be a String, not nil/) { client.ick_channel(nil, 1) }
    refused(Millpond::InvalidArgumentError, /1 to 65536/) { client.ick_channel("x", 0) }
    refused(Millpond::InvalidArgumentError, /shards is 4294967296/) { client.ick_channel("x", 1 << 32) }
    refused(Millpond::InvalidArgumentError, /name has 65537 bytes/) { client.ick("x" * 65_537).stats }
    refused(TypeError, /numbers\[1\] must be an Integer/) { client.ick_channel("x", 1).each_batch([0, "1"], 1) }
  end

  def test_options
    refused(TypeError, /url must be a String, not nil/) { Millpond.connect(nil) }
    refused(Millpond::InvalidUrlError, /scheme/) { Millpond.connect("nonsense") }
    refused(Millpond::InvalidArgumentError, /timeout has to be longer/) { Millpond.connect("redis://h", timeout: 0) }
    refused(Millpond::Error, /password/) { Millpond.connect("redis://h", username: "u") }
    refused(ArgumentError, /unknown encoding/) { Millpond.connect("memory:", encoding: "nonsense") }
    refused(ArgumentError, /unknown keyword/) { Millpond.connect("memory:", decode: true) }
    Millpond.connect("redis://h", timeout: Float::INFINITY, connect_timeout: 1r / 3).close
  end

  def test_strings_that_change_during_a_call
    changing = Changing.new("a")
    assert_equal 1, @ick.add([[1, changing]]).new
    assert_equal 1, @ick.add([Changing.new("b")]).new
    assert_equal %w[a b], @ick.reserve(2).map(&:first)
    assert_equal 1, @ick.commit([changing])
    assert_equal [], @ick.exchange(0, [Changing.new("b")])
    client = connect("memory:")
    assert_equal 1, client.ick(Changing.new("x")).add(["a"]).new
    assert_equal 1, client.ick("x").stats.pset_size
    assert_equal "x", Millpond::Ick.keys(Changing.new("x")).first
    channel = client.ick_channel(Changing.new("x"), 4)
    assert_equal "x/1", channel.ick(1).name
    assert_equal channel.ick_of("a"), channel.ick_of(changing)
    Millpond.connect(Changing.new("memory:")).close
  end

  # Each access to an element removes the rest of the list.
  class Emptying < String
    attr_writer :list

    def is_a?(kind)
      @list.clear
      super
    end
  end

  def test_lists_that_change_during_a_call
    list = [Emptying.new("a"), "b"]
    list[0].list = list
    assert_equal 2, @ick.add(list).new
    assert_equal %w[a b], @ick.reserve(2).map(&:first)
    list.concat([Emptying.new("a"), "b"])
    list[0].list = list
    assert_equal 2, @ick.commit(list)
  end

  def test_what_is_given_is_not_changed
    name = +"x"
    ick = connect("memory:").ick(name)
    name << "y"
    member = "é".b.freeze
    ick.add([[1, member]].freeze)
    assert_equal ["x", Encoding::BINARY], [ick.name, member.encoding]
  end
end
