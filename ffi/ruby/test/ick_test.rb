# frozen_string_literal: true

require_relative "helper"

# What each call does, on every backend.
class IckTest < MillpondTest
  on_every_backend :add_reserve_commit do |url|
    ick = ick_on(url)
    added = ick.add([[2, "b"], [1.5, "a"], [9, "c"]])
    assert_equal [3, 0], [added.new, added.lowered]
    new, lowered = ick.add([[1, "c"], [5, "a"]])
    assert_equal [0, 1], [new, lowered]
    assert_equal [["c", 1.0], ["a", 1.5]], ick.reserve(2)
    ick.add([[7, "c"]])
    assert_equal 2, ick.commit(%w[c a nobody])
    assert_equal [["b", 2.0], ["c", 7.0]], ick.reserve(10)
    assert_kind_of Float, ick.reserve(1)[0][1]
    assert_equal [], ick.reserve(0)
  end

  on_every_backend :a_score_left_out_is_the_servers_time do |url|
    ick = ick_on(url)
    ick.add(["a", [nil, "b"], [1, "d"]])
    scores = ick.peek(10).to_h
    assert_equal 1.0, scores.delete("d")
    assert_equal %w[a b], scores.keys.sort
    scores.each_value { |score| assert_in_delta Time.now.to_f, score, 60 }
  end

  on_every_backend :every_kind_of_number do |url|
    ick = ick_on(url)
    scores = [1, -2.5, 3r / 4, 2**70, -Float::INFINITY, Float::INFINITY]
    ick.add(scores.each_with_index.map { |score, index| [score, index.to_s] })
    expected = scores.each_with_index.map { |score, index| [index.to_s, score.to_f] }
    assert_equal expected.sort_by(&:last), ick.reserve(10)
  end

  on_every_backend :members_are_bytes do |url|
    ick = ick_on(url)
    members = ["é", "\xFF\x00".b, "", "plain".encode("UTF-16LE"), "long" * 10_000]
    ick.add(members.each_with_index.map { |member, index| [index, member] }.each)
    assert_equal members.map(&:b), ick.reserve(10).map { |member, _| member.b }
    assert_equal 5, ick.commit(members.lazy)
    assert_equal 0, ick.commit([])
  end

  on_every_backend :the_encoding_of_results do |url|
    ick = ick_on(url)
    ick.add([[1, "é"], [2, "\xFF".b]])
    assert_equal [[Encoding::UTF_8, "é"], [Encoding::BINARY, "\xFF".b]],
                 ick.peek(2).map { |member, _| [member.encoding, member] }
    next if url.start_with?("file:")

    binary = connect(url == "memory:" ? "memory:#{name_of_queue}" : url, encoding: Encoding::BINARY)
    ick = binary.ick("é#{name_of_queue}")
    ick.add([[1, "é"]])
    assert_equal [["é".b, 1.0]], ick.reserve(1)
    assert_equal "é#{name_of_queue}".b, ick.stats.key
    assert_equal Encoding::BINARY, ick.stats.pset_key.encoding
  end

  on_every_backend :exchange_and_backwash do |url|
    ick = ick_on(url)
    ick.add([[5, "e"], [6, "f"]])
    assert_equal [["e", 5.0]], ick.exchange(1)
    ick.add([[1, "a"]])
    assert_equal [["e", 5.0]], ick.reserve(1)
    assert_equal [["a", 1.0]], ick.reserve(1, backwash: true)
    assert_equal [["e", 5.0], ["f", 6.0]], ick.exchange(2, ["a"], backwash: true)
    assert_equal [], ick.exchange(2, %w[e f])
  end

  on_every_backend :stats_peek_delete do |url|
    ick = ick_on(url)
    assert_nil ick.stats
    ick.add([[1, "a"], [2, "b"], [Float::INFINITY, "c"]])
    ick.reserve(1)
    name = name_of_queue
    expected = {
      ver: "ick.v1", key: name, pset_key: "#{name}/ick/{#{name}}/pset",
      cset_key: "#{name}/ick/{#{name}}/cset", pset_size: 2, cset_size: 1, total_size: 3,
      pset_min: 2.0, pset_max: Float::INFINITY, cset_min: 1.0, cset_max: 1.0,
      total_min: 1.0, total_max: Float::INFINITY
    }
    assert_equal expected, ick.stats.to_h
    assert_predicate ick.stats, :frozen?
    assert_equal [["b", 2.0]], ick.peek(1)
    assert_equal [["a", 1.0]], ick.peek(5, set: :consumer)
    assert_equal 3, ick.delete
    assert_equal 0, ick.unlink
    assert_nil ick.stats
    assert_equal [0, 0], ick.add([]).to_a
    assert_nil ick.stats.total_min
  end

  on_every_backend :more_members_than_a_step_takes do |url|
    ick = ick_on(url, **(url.start_with?("redis") ? { timeout: 60 } : {}))
    members = Array.new(250_001, &:to_s)
    assert_equal members.size, ick.add(members.map { |member| [1, member] }).new
    ick.reserve(members.size)
    assert_equal members.size, ick.commit(members)
  end

  on_every_backend :batches_commit_what_was_done do |url|
    ick = ick_on(url)
    ick.add([[1, "a"], [2, "b"], [3, "c"]])
    seen = []
    result = ick.each_batch(2) do |batch|
      seen << batch.map(&:first)
      assert_equal batch.size, ick.stats.cset_size
    end
    assert_same ick, result
    assert_equal [%w[a b], %w[c]], seen
    assert_equal 0, ick.stats.total_size
  end

  on_every_backend :a_loop_that_is_left_keeps_its_batch do |url|
    ick = ick_on(url)
    ick.add([[1, "a"], [2, "b"]])
    assert_raises(ZeroDivisionError) { ick.each_batch(1) { raise ZeroDivisionError } }
    assert_equal [["a", 1.0]], ick.reserve(1)
    ick.each_batch(1) { break }
    assert_equal [["a", 1.0]], ick.reserve(1)
    catch(:out) { ick.each_batch(1) { throw :out } }
    assert_equal [["a", 1.0]], ick.reserve(1)
    assert_equal 2, ick.stats.total_size
  end

  on_every_backend :batches_as_an_enumerator do |url|
    ick = ick_on(url)
    ick.add([[1, "a"], [2, "b"], [3, "c"]])
    batches = ick.each_batch(1)
    assert_equal [["a", 1.0]], batches.next
    assert_equal [["b", 2.0]], batches.next
    assert_equal 1, ick.stats.cset_size
    assert_equal [["c", 3.0]], batches.next
    assert_raises(StopIteration) { batches.next }
    ick.add([[1, "a"], [2, "b"]])
    assert_equal [[[["a", 1.0]], 0], [[["b", 2.0]], 1]], ick.each_batch(1).each_with_index.to_a
  end

  on_every_backend :lease do |url|
    ick = ick_on(url)
    ick.add([[1, "a"], [2, "b"], [3, "c"], [4, "d"]])
    kept = nil
    result = ick.lease(ttl: 30) do |lease|
      kept = lease
      refute_predicate lease, :lost?
      assert_nil ick.lease(ttl: 30)
      assert_nil(ick.lease(ttl: 30) { flunk "nobody has it" })
      refute_empty lease.token
      assert_equal [["a", 1.0]], lease.reserve(1)
      assert_equal 1, lease.commit(["a"])
      assert_equal [["b", 2.0]], lease.exchange(1)
      assert_equal [["c", 3.0]], lease.exchange(1, ["b"])
      lease.each_batch(1).map(&:size)
    end
    assert_equal [1, 1], result
    assert_predicate kept, :lost?
    refute kept.release
    assert_raises(Millpond::LeaseLostError) { kept.reserve(1) }
    assert ick.lease(ttl: 30).release
    assert_raises(ZeroDivisionError) { ick.lease(ttl: 30) { raise ZeroDivisionError } }
    assert ick.lease(ttl: 30).release
  end

  def test_a_lost_lease_is_noticed_and_refused
    require "redis"
    redis = Redis.new(url: Servers.shared.url)
    key = "#{name_of_queue}/ick/{#{name_of_queue}}/lease"
    ick = ick_on(renewing(Servers.shared.url))
    ick.add([[1, "a"]])
    lease = ick.lease(ttl: 60)
    2.times do
      assert redis.expire(key, 50)
      wait_until { redis.ttl(key) > 50 } # it is renewed
    end
    assert_equal [["a", 1.0]], lease.reserve(1)
    redis.del(key)
    error = assert_raises(Millpond::LeaseLostError) { lease.commit(["a"]) }
    assert_equal "ick.commit", error.operation
    wait_until { lease.lost? }
    assert_equal 1, ick.stats.cset_size
  end

  on_every_backend :a_lease_that_is_dropped_is_released do |url|
    ick = ick_on(url)
    # On a stack of its own, so that no trace of it is left where the collector looks.
    Thread.new { ick.lease(ttl: 60) && nil }.join
    Timeout.timeout(20) do
      loop do
        GC.start
        break if ick.lease(ttl: 60)

        sleep 0.02
      end
    end
  end

  on_every_backend :channel do |url|
    channel = connect(url).ick_channel(name_of_queue, 3)
    assert_equal [3, 3], [channel.shards, channel.readable]
    members = Array.new(20, &:to_s)
    assert_equal 20, channel.add(members.map { |member| [1, member] }).new
    ick = channel.ick(channel.ick_of("7"))
    assert_equal "#{name_of_queue}/#{channel.ick_of('7')}", ick.name
    assert_includes ick.peek(20).map(&:first), "7"
    seen = channel.each_batch([0, 1, 2], 4).flat_map { |batch| batch.map(&:first) }
    assert_equal members.sort, seen.sort
    assert_equal 8, channel.draining(8).readable
    [[3], []].each do |wrong|
      assert_raises(Millpond::InvalidArgumentError) { channel.each_batch(wrong, 1) { flunk } }
    end
  end

  def test_a_file_is_durable_and_held_by_one_process
    Dir.mktmpdir do |folder|
      url = "file:#{folder}/data"
      Millpond.connect(url) { |client| client.ick("x").add([[1, "a"]]) }
      Millpond.connect(url) do |client|
        assert_equal [["a", 1.0]], client.ick("x").reserve(1)
        output, = run_ruby("-rmillpond", "-e", <<~PROGRAM, url)
          begin
            Millpond.connect(ARGV[0])
          rescue Millpond::LockedError => error
            print error.name, error.message[/ process [0-9]+; .*Use redis:/]
          end
        PROGRAM
        assert_match(/\ALOCKED process #{Process.pid}; .*Use redis:\z/, output)
      end
    end
  end
end
