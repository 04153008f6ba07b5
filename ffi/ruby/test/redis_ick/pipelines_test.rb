# frozen_string_literal: true

require_relative "helper"

# Futures, in every kind of pipeline and transaction that this redis-rb has.
class RedisIckPipelinesTest < RedisIckTest
  KINDS = %i[pipelined multi].freeze

  # Calls every method through the Icks that the block of a pipeline is to use, and checks the
  # results of it and of the pipeline.
  def works_in(before:, futures: [])
    before.script(:flush)
    results = yield(lambda do |ick|
      futures << ick.ickadd(key, 12.5, "foo", 10, "bar")
      futures << ick.ickstats(key)
      futures << ick.ickreserve(key, 1)
      futures << ick.ickcommit(key, "bar")
      futures << ick.ickexchange(key, 1, "nobody", backwash: true)
      futures << ick.ickstats("#{key}-none")
      futures << ick.ickunlink(key)
    end)
    values = futures.map(&:value)
    assert_equal Redis::Future, futures.first.class
    assert_equal [[2, 0], [["bar", 10.0]], 1, [["foo", 12.5]], nil, 2], values.values_at(0, 2, 3, 4, 5, 6)
    stats = values[1]
    assert_equal ["ick.v1", key, 2, 10, 12.5],
                 stats.values_at("ver", "key", "pset_size", "pset_min", "pset_max")
    assert_equal values, results
  end

  KINDS.each do |kind|
    define_method(:"test_#{kind}_with_the_blocks_object") do
      client = redis
      works_in(before: client) do |calls|
        client.public_send(kind) { |pipeline| calls.call(Redis::Ick.new(pipeline)) }
      end
    end

    define_method(:"test_#{kind}_in_a_namespace") do
      client = Redis::Namespace.new("app", redis: redis)
      works_in(before: redis) do |calls|
        client.public_send(kind) { |pipeline| calls.call(Redis::Ick.new(pipeline)) }
      end
    end

    next unless RedisIckTest::IMPLICIT_PIPELINES

    define_method(:"test_#{kind}_without_a_parameter") do
      client = redis
      ick = Redis::Ick.new(client)
      works_in(before: client) { |calls| client.public_send(kind) { calls.call(ick) } }
      assert_equal [1, 0], ick.ickadd(key, 1, "afterwards")
    end

    define_method(:"test_#{kind}_with_a_parameter_that_is_not_used") do
      client = redis
      ick = Redis::Ick.new(client)
      works_in(before: client) { |calls| client.public_send(kind) { |_pipeline| calls.call(ick) } }
    end

    define_method(:"test_#{kind}_of_a_namespace_without_a_parameter") do
      client = Redis::Namespace.new("app", redis: redis)
      ick = Redis::Ick.new(client)
      works_in(before: redis) { |calls| client.public_send(kind) { calls.call(ick) } }
    end
  end

  def test_a_pipeline_in_a_pipeline
    client = redis
    future = nil
    client.pipelined do |pipeline|
      pipeline.pipelined { |inner| future = Redis::Ick.new(inner).ickadd(key, 1, "a") }
    end
    assert_equal [1, 0], future.value
  end

  def test_a_transaction_in_a_pipeline
    client = redis
    futures = []
    client.pipelined do |pipeline|
      pipeline.multi do |transaction|
        ick = Redis::Ick.new(transaction)
        futures = [ick.ickadd(key, 1, "a"), ick.ickstats("#{key}-none"), ick.ickreserve(key, 1), ick.ickstats(key)]
      end
    end
    assert_equal [[1, 0], nil, [["a", 1.0]]], futures.first(3).map(&:value)
    assert_equal 1, futures.last.value["cset_size"]
  end

  def test_other_commands_beside
    client = redis
    results = client.multi do |transaction|
      transaction.set(key, "ick.v1")
      Redis::Ick.new(transaction).ickadd(key, 1, "a")
      transaction.get(key)
    end
    assert_equal ["OK", [1, 0], "ick.v1"], results
  end

  def test_a_transaction_that_watch_ends
    client = redis
    future = nil
    result = client.watch(key) do
      redis.set(key, "changed")
      client.multi { |transaction| future = Redis::Ick.new(transaction).ickstats(key) }
    end
    assert_nil result
    assert_raises(Redis::FutureNotReady) { future.value }
  end

  # With redis-rb 4 that is a call of multi without a block.
  def test_a_transaction_that_is_opened_by_hand
    client = redis
    admin = redis
    client.call("MULTI")
    %i[ickstats ickadd ickunlink].each do |method|
      error = assert_raises(Redis::BaseError) { Redis::Ick.new(client).public_send(method, key) }
      assert_match(/multi without a block/, error.message)
    end
    client.call("DISCARD")
    assert_nil admin.get(key)
    assert_equal [1, 0], ick(client).ickadd(key, 1, "a")
  end

  def test_an_error_in_a_pipeline
    client = redis
    client.hset(key, "foo", "bar")
    KINDS.each do |kind|
      error = assert_raises(Redis::CommandError) do
        client.public_send(kind) { |pipeline| Redis::Ick.new(pipeline).ickreserve(key, 1) }
      end
      assert_match(/WRONGTYPE/, error.message)
    end
  end

  def test_a_future_before_its_time
    client = redis
    client.pipelined do |pipeline|
      future = Redis::Ick.new(pipeline).ickstats(key)
      assert_raises(Redis::FutureNotReady) { future.value }
    end
  end

  def test_wrong_arguments_in_a_pipeline
    client = redis
    assert_raises(ArgumentError) { client.pipelined { |pipeline| Redis::Ick.new(pipeline).ickreserve(key, -1) } }
    assert_equal [1, 0], ick(client).ickadd(key, 1, "a")
  end
end
