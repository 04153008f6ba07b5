# frozen_string_literal: true

require "bigdecimal"
require_relative "helper"

# The methods of the gem redis-ick, called directly.
class RedisIckCallsTest < RedisIckTest
  def test_version
    assert_equal "0.1.4", Redis::Ick::VERSION
  end

  def test_add_reserve_commit
    ick = self.ick
    assert_equal [0, 0], ick.ickadd(key)
    assert_equal [3, 0], ick.ickadd(key, 7, "a", 8.5, "b", BigDecimal("9"), "c")
    assert_equal [1, 1], ick.ickadd(key, 1, "a", 9, "b", -Float::INFINITY, "d")
    assert_equal [["d", -Float::INFINITY], ["a", 1.0]], ick.ickreserve(key, 2)
    assert_equal [], ick.ickreserve(key)
    assert_equal 1, ick.ickcommit(key, "a", "nobody")
    assert_equal 0, ick.ickcommit(key)
    assert_equal [["d", -Float::INFINITY], ["b", 8.5]], ick.ickreserve(key, 2)
  end

  def test_exchange_and_backwash
    ick = self.ick
    ick.ickadd(key, 5, "e", 6, "f")
    assert_equal [["e", 5.0]], ick.ickexchange(key, 1)
    ick.ickadd(key, 1, "a")
    assert_equal [["e", 5.0]], ick.ickreserve(key, 1, backwash: false)
    assert_equal [["a", 1.0]], ick.ickreserve(key, 1, backwash: true)
    assert_equal [["e", 5.0], ["f", 6.0]], ick.ickexchange(key, 2, "a", backwash: true)
    assert_equal [], ick.ickexchange(key, 0, "e", "f")
  end

  # The loop of the README of redis-ick.
  def test_a_batch_is_committed_as_it_was_reserved
    ick = self.ick
    ick.ickadd(key, 1, "a", 2, "b", 3, "c", 4, "1.0", 5, "d")
    seen = []
    batch = []
    3.times do
      batch = ick.ickexchange(key, 2, *batch)
      seen << batch
    end
    assert_equal [[["a", 1.0], ["b", 2.0]], [["c", 3.0], ["1.0", 4.0]], [["d", 5.0]]], seen
    assert_equal [], ick.ickexchange(key, 0, *batch)
    assert_equal 0, ick.ickstats(key)["total_size"]
  end

  def test_a_commit_of_pairs_leaves_members_that_are_named_like_a_score
    ick = self.ick
    ick.ickadd(key, 1, "a", 2, "1.0", 3, "b")
    batch = ick.ickreserve(key, 3)
    assert_equal 2, ick.ickcommit(key, batch.first, "b")
    assert_equal [["1.0", 2.0]], ick.ickreserve(key, 3)
  end

  def test_stats
    ick = self.ick
    assert_nil ick.ickstats(key)
    ick.ickadd(key, 5, "a", 1_700_000_000_123_456, "b", Float::INFINITY, "c", -3, "d", 0.1, "e")
    ick.ickreserve(key, 2)
    expected = {
      "key" => key, "pset_key" => "#{key}/ick/{#{key}}/pset", "cset_key" => "#{key}/ick/{#{key}}/cset",
      "ver" => "ick.v1", "cset_size" => 2, "pset_size" => 3, "total_size" => 5,
      "pset_min" => 5, "pset_max" => Float::INFINITY, "cset_min" => -3.0, "cset_max" => 0.1,
      "total_min" => -3.0, "total_max" => Float::INFINITY
    }
    stats = ick.ickstats(key)
    assert_equal expected, stats
    assert_equal expected.keys, stats.keys
    assert_equal expected.map { |_, value| value.class }, stats.map { |_, value| value.class }
    ick.ickcommit(key, "d", "e")
    assert_equal %w[pset_min pset_max total_min total_max], ick.ickstats(key).keys.last(4)
  end

  def test_delete
    ick = self.ick
    ick.ickadd(key, 1, "a", 2, "b")
    ick.ickreserve(key, 1)
    assert_equal 3, ick.ickdel(key)
    assert_equal 0, ick.ickdel(key)
    ick.ickadd(key)
    assert_equal({ "evalsha" => 1, "unlink" => 1 },
                 commands { assert_equal 1, ick.ickdel(key, unlink: true) }.slice("evalsha", "unlink", "del"))
    ick.ickadd(key, 1, "a")
    assert_equal 2, ick.ickunlink(key)
  end

  def test_text
    ick = self.ick
    name = "#{key}-é"
    assert_equal [2, 0], ick.ickadd(name, 1, "é", 2, "ü")
    assert_equal [["é", 1.0], ["ü", 2.0]], ick.ickreserve(name, 10)
    assert_equal Encoding.default_external, ick.ickreserve(name, 1)[0][0].encoding
    assert_equal 1, ick.ickcommit(name, "é")
    assert_equal "#{name}/ick/{#{name}}/pset", ick.ickstats(name)["pset_key"]
    assert_equal 2, ick.ickdel(name.b)
  end

  def test_bytes
    ick = self.ick
    members = ["\xFF\x00".b, "", "x y", "\xC3"]
    # What redis-rb 4.2 cannot send in one command, it cannot send for us.
    members.each_with_index { |member, index| ick.ickadd(key, index, member) }
    assert_equal members.map(&:b), ick.ickreserve(key, 10).map { |member, _| member.b }
    assert_equal 2, members.first(2).sum { |member| ick.ickcommit(key, member) }
  end

  def test_more_members_than_lua_unpacks
    ick = self.ick
    members = Array.new(20_000, &:to_s)
    assert_equal [20_000, 0], ick.ickadd(key, *members.flat_map { |member| [1, member] })
    assert_equal 20_000, ick.ickreserve(key, 20_000).size
    assert_equal 20_000, ick.ickcommit(key, *members)
  end

  # A number whose text is what it was made of.
  class Printed < Numeric
    attr_reader :to_s

    def initialize(text)
      @to_s = text
    end
  end

  # The server would refuse these after it had added the pairs before them.
  def test_scores_that_redis_cannot_hold_change_nothing
    ick = self.ick
    admin = redis
    pairs = (1..5_000).flat_map { |number| [number, number.to_s] }
    large = 10**308 * 2
    [10**400, -10**400, large, -large, BigDecimal("1e400"), BigDecimal("-1e400"), BigDecimal("1e-400"),
     Printed.new("1_000"), Printed.new(" 1"), Printed.new("0x1p3"), Printed.new("Infinity")].each do |score|
      sent = commands(admin) do
        assert_raises(ArgumentError, score.to_s) { ick.ickadd(key, *pairs, score, "bad") }
      end
      assert_equal ["info"], sent.keys
    end
    assert_nil ick.ickstats(key)
    assert_equal [1, 0], ick.ickadd(key, 1, "a")
  end

  def test_scores_at_the_limits
    largest = Float::MAX.to_i
    infinity = Float::INFINITY
    tiny = 5e-324
    scores = { "a" => BigDecimal("-Infinity"), "b" => -largest, "c" => 0, "d" => tiny, "e" => BigDecimal("1e-300"),
               "f" => Printed.new("1.5E+3"), "g" => largest, "h" => BigDecimal("Infinity") }
    ick = self.ick
    assert_equal [8, 0], ick.ickadd(key, *scores.flat_map { |member, score| [score, member] })
    expected = [-infinity, -Float::MAX, 0.0, tiny, 1e-300, 1500.0, Float::MAX, infinity]
    assert_equal scores.keys.zip(expected), ick.ickreserve(key, 10)
    assert_equal [1, 0], ick.ickadd(key, BigDecimal("0"), "zero")
  end

  def test_wrong_arguments_send_nothing
    ick = self.ick
    admin = redis
    sent = commands(admin) do
      %i[ickdel ickunlink ickstats ickadd ickcommit ickreserve].each do |method|
        [nil, 5, :sym].each { |wrong| assert_raises(ArgumentError) { ick.public_send(method, wrong) } }
      end
      [-1, nil, "", [], 1.5].each do |wrong|
        assert_raises(ArgumentError) { ick.ickreserve(key, wrong) }
        assert_raises(ArgumentError) { ick.ickexchange(key, wrong) }
      end
      assert_raises(ArgumentError) { ick.ickexchange(key) }
      [[1], %w[5 a], [nil, "a"], [true, "a"], [1, 7], [1, nil], [1, :a], [1, "a", "x", "b"], [Float::NAN, "a"],
       [1, "a", 1r / 2, "b"], [1i, "a"], [BigDecimal("NaN"), "a"]].each do |wrong|
        assert_raises(ArgumentError, wrong.inspect) { ick.ickadd(key, *wrong) }
      end
      [7, :a, nil, 1.5, ["a"], %w[a b], [1.0, "a"], ["a", 1.0, "b"], [["a", 1.0]], []].each do |wrong|
        assert_raises(ArgumentError) { ick.ickcommit(key, "a", wrong) }
        assert_raises(ArgumentError) { ick.ickexchange(key, 1, wrong) }
      end
    end
    assert_equal ["info"], sent.keys
  end

  def test_an_odd_number_of_scores_and_members
    [[1], [1, "a", 2]].each do |wrong|
      error = assert_raises(ArgumentError) { ick.ickadd(key, *wrong) }
      assert_equal "expected score, member, score, member, ..., but the last of #{wrong.size} arguments has no partner",
                   error.message
    end
  end

  def test_what_is_no_redis_and_no_statsd
    [nil, "redis", 0].each { |wrong| assert_raises(ArgumentError) { Redis::Ick.new(wrong) } }
    ["nope", 0, []].each { |wrong| assert_raises(ArgumentError) { Redis::Ick.new(redis, statsd: wrong) } }
  end

  def test_broken_icks
    admin = redis
    ick = self.ick(admin)
    pset = "#{key}/ick/{#{key}}/pset"
    breakages = [
      -> { admin.hset(key, "foo", "bar") }, -> { admin.set(key, "ick.v9") }, -> { admin.zadd(pset, 1, "x") },
      -> { admin.mset(key, "ick.v1", pset, "warbles") }
    ]
    breakages.each do |break_it|
      break_it.call
      [[:ickstats], [:ickadd, 1, "a"], [:ickreserve, 0], [:ickcommit, "a"], [:ickexchange, 1], [:ickdel],
       [:ickunlink]].each do |method, *rest|
        error = assert_raises(Redis::CommandError) { ick.public_send(method, key, *rest) }
        assert_match(/\A(WRONGTYPE|INCOMPATIBLE_VERSION) .*#{key}/, error.message)
      end
      assert_operator connect(Servers.shared.url).ick(key).delete, :>, 0
      assert_nil ick.ickstats(key)
    end
  end

  def test_sizes_that_are_too_large_change_nothing
    ick = self.ick
    ick.ickadd(key, 1, "a")
    assert_match(/INVALID_ARGUMENT/, assert_raises(Redis::CommandError) { ick.ickreserve(key, 10**17) }.message)
    assert_equal 0, ick.ickstats(key)["cset_size"]
  end

  def test_a_script_that_the_server_does_not_know
    admin = redis
    ick = self.ick(admin)
    admin.script(:flush)
    sent = commands { 2.times { ick.ickadd(key, 1, "a") } }
    assert_equal [2, 1], sent.values_at("evalsha", "eval")
    admin.script(:flush)
    assert_equal [["a", 1.0]], ick.ickreserve(key, 1)
  end

  class Statsd
    attr_reader :log

    def initialize
      @log = []
    end

    def increment(metric)
      @log << [:increment, metric]
    end

    def timing(metric, time)
      @log << [:timing, metric, time]
    end

    def time(metric)
      @log << [:time, metric]
      yield
    end
  end

  def test_metrics
    statsd = Statsd.new
    ick = self.ick(statsd: statsd)
    assert_same statsd, ick.statsd
    logged = lambda do |&call|
      statsd.log.clear
      call.call
      statsd.log
    end
    expected = [[:increment, "profile.ick.ickadd.calls"], [:timing, "profile.ick.ickadd.pairs", 2],
                [:time, "profile.ick.time.ickadd"]]
    assert_equal(expected, logged.call { ick.ickadd(key, 1, "a", 2, "b") })
    expected = [[:increment, "profile.ick.ickreserve.calls"], [:timing, "profile.ick.ickreserve.max_size", 7],
                [:time, "profile.ick.time.ickreserve"]]
    assert_equal(expected, logged.call { ick.ickreserve(key, 7) })
    expected = [[:increment, "profile.ick.ickcommit.calls"], [:timing, "profile.ick.ickcommit.members", 2],
                [:time, "profile.ick.time.ickcommit"]]
    assert_equal(expected, logged.call { ick.ickcommit(key, ["a", 1.0], "b") })
    expected = [[:increment, "profile.ick.ickexchange.calls"],
                [:timing, "profile.ick.ickexchange.reserve_size", 3],
                [:timing, "profile.ick.ickexchange.commit_members", 1], [:time, "profile.ick.time.ickexchange"]]
    assert_equal(expected, logged.call { ick.ickexchange(key, 3, "a") })
    expected = [[:increment, "profile.ick.ickstats.calls"], [:time, "profile.ick.time.ickstats"]]
    assert_equal(expected, logged.call { ick.ickstats(key) })
    expected = [[:increment, "profile.ick.ickdel.calls"], [:time, "profile.ick.ickdel.time"]]
    assert_equal(expected, logged.call { ick.ickdel(key) })
    expected = [[:increment, "profile.ick.ickunlink.calls"], [:time, "profile.ick.ickunlink.time"]]
    assert_equal(expected, logged.call { ick.ickunlink(key) })
  end

  # It reports what it measures, and returns something of its own.
  class StatsdWithOtherResults < Statsd
    def time(metric)
      super
      nil
    end
  end

  def test_a_statsd_that_does_not_return_what_the_block_does
    ick = self.ick(statsd: StatsdWithOtherResults.new)
    assert_equal [2, 0], ick.ickadd(key, 1, "a", 2, "b")
    assert_equal [["a", 1.0]], ick.ickreserve(key, 1)
    assert_equal 2, ick.ickstats(key)["total_size"]
    assert_equal [["b", 2.0]], ick.ickexchange(key, 1, "a")
    assert_equal 1, ick.ickcommit(key, "b")
    assert_equal 1, ick.ickdel(key)
    assert_equal(7, ick._statsd_time("foo") { 7 })
  end

  def test_helpers
    statsd = Statsd.new
    ick = self.ick(statsd: statsd)
    ick._statsd_increment("foo")
    ick._statsd_timing("foo", 123)
    assert_equal("hi", ick._statsd_time("foo") { "hi" })
    assert_equal [[:increment, "foo"], [:timing, "foo", 123], [:time, "foo"]], statsd.log
    ick.statsd = nil
    assert_nil ick._statsd_increment("foo")
    assert_equal("hi", ick._statsd_time("foo") { "hi" })
    assert_nil ick._statsd_time("foo")
    ["", " ", "abc", "123abc", 123, [], {}, nil].each do |junk|
      assert_raises(ArgumentError) { Redis::Ick._floatify(junk) }
    end
    { "0" => 0.0, "-1.5" => -1.5, "1e20" => 1e20, "inf" => Float::INFINITY, "-inf" => -Float::INFINITY }
      .each { |text, value| assert_equal value, Redis::Ick._floatify(text) }
  end

  def test_another_redis_for_the_same_object
    ick = self.ick
    ick.ickadd(key, 1, "a")
    ick.redis = redis(db: 1)
    assert_nil ick.ickstats(key)
  end

  def test_many_names
    ick = self.ick
    2_500.times { |number| ick.ickstats("#{key}-#{number}") }
    assert_operator ick.instance_variable_get(:@keys).size, :<=, 1_000
  end

  def test_our_own_api_sees_the_same
    ours = connect(Servers.shared.url).ick(key)
    ick = self.ick
    ick.ickadd(key, 2, "b", 1, "a")
    assert_equal [["a", 1.0]], ours.reserve(1)
    ours.add([[0, "c"]])
    assert_equal [["c", 0.0], ["a", 1.0]], ick.ickreserve(key, 2, backwash: true)
    assert_equal 2, ours.commit(%w[a c])
    assert_equal 1, ick.ickstats(key)["pset_size"]
    assert_equal ick.ickstats(key)["pset_key"], ours.stats.pset_key
    lease = ours.lease(ttl: 30)
    assert_equal [["b", 2.0]], lease.reserve(1)
    assert_equal 1, ick.ickcommit(key, "b")
    assert lease.release
    waiting = Thread.new { ours.each_batch(10, wait: 30).first }
    sleep 0.2
    ick.ickadd(key, 5, "woken")
    assert_equal [["woken", 5.0]], waiting.value
  end

  def test_threads
    ick = self.ick
    threads = Array.new(4) do |thread|
      Thread.new { Array.new(100) { |number| ick.ickadd(key, 1, "#{thread}-#{number}")[0] }.sum }
    end
    assert_equal 400, threads.sum(&:value)
  end
end
