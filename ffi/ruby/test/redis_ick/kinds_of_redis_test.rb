# frozen_string_literal: true

require_relative "helper"

# Whatever object of redis-rb it is given.
class RedisIckKindsOfRedisTest < RedisIckTest
  def works(ick, name = key)
    assert_equal [2, 0], ick.ickadd(name, 2, "b", 1, "a")
    assert_equal [["a", 1.0]], ick.ickreserve(name, 1)
    assert_equal 1, ick.ickcommit(name, "a")
    assert_equal [1, 0], ick.ickstats(name).values_at("pset_size", "cset_size")
    assert_equal 2, ick.ickdel(name)
  end

  def test_a_unix_socket
    client = Redis.new(path: Servers.shared.unix_url.delete_prefix("redis+unix://"))
    works(Redis::Ick.new(client))
    client.close
  end

  def test_a_namespace
    client = redis
    namespaced = Redis::Namespace.new("app", redis: client)
    ick = Redis::Ick.new(namespaced)
    sent = commands { works(ick) }
    assert_operator sent.fetch("evalsha"), :>=, 5
    ick.ickadd(key, 1, "a")
    # For other clients it is the Ick of the full name, and its keys are as the namespace takes them.
    assert_equal [["a", 1.0]], connect(Servers.shared.url).ick("app:#{key}").reserve(1)
    stats = ick.ickstats(key)
    assert_equal key, stats["key"]
    assert_equal "#{key}/ick/{app:#{key}}/cset", stats["cset_key"]
    assert_equal 1, namespaced.zcard(stats["cset_key"])
    assert_equal "ick.v1", namespaced.get(stats["key"])
    assert_equal ick(client).ickstats("app:#{key}").slice("cset_size"), stats.slice("cset_size")
  end

  def test_namespaces_in_namespaces_and_ones_that_change
    inner = Redis::Namespace.new("outer", redis: redis)
    works(Redis::Ick.new(Redis::Namespace.new("inner", redis: inner)))
    Redis::Ick.new(Redis::Namespace.new("inner", redis: inner)).ickadd(key, 1, "a")
    assert_equal 1, ick.ickstats("outer:inner:#{key}")["pset_size"]
    current = "one"
    ick = Redis::Ick.new(Redis::Namespace.new(-> { current }, redis: redis))
    ick.ickadd(key, 1, "a")
    current = "two"
    assert_nil ick.ickstats(key)
    ["", nil].each do |namespace|
      ick = Redis::Ick.new(Redis::Namespace.new(namespace, redis: redis))
      ick.ickadd(key, 1, "a")
      assert_equal 1, ick(redis).ickstats("#{namespace && ':'}#{key}")["pset_size"]
    end
  end

  def test_sentinel
    servers = own_server("sentinel")
    hosts, service = servers.url.delete_prefix("redis+sentinel://").split("/")
    sentinels = hosts.split(",").map { |host| { host: host.split(":")[0], port: Integer(host.split(":")[1]) } }
    options = GENERATION < 5 ? { url: "redis://#{service}" } : { name: service }
    client = Redis.new(sentinels: sentinels, role: :master, **options)
    sent = commands(client) { works(Redis::Ick.new(client)) }
    assert_operator sent.fetch("evalsha"), :>=, 5
    future = nil
    client.pipelined { |pipeline| future = Redis::Ick.new(pipeline).ickadd(key, 1, "a") }
    assert_equal [1, 0], future.value
    client.close
  end

  def cluster(servers)
    return Redis.new(cluster: servers.urls) if GENERATION < 5

    require "redis-clustering"
    Redis::Cluster.new(nodes: servers.urls)
  end

  def test_cluster
    servers = own_server("cluster")
    client = cluster(servers)
    ick = Redis::Ick.new(client)
    # Of each script's first call on each server the text is sent too.
    30.times { |number| works(ick, "#{key}-#{number}") }
    30.times do |number|
      name = "#{key}-#{number}"
      results = client.pipelined do |pipeline|
        pipelined = Redis::Ick.new(pipeline)
        pipelined.ickadd(name, 1, "a")
        pipelined.ickreserve(name, 1)
      end
      assert_equal [[1, 0], [["a", 1.0]]], results
      assert_equal 1, connect(servers.url).ick(name).commit(["a"])
    end
    namespaced = Redis::Ick.new(Redis::Namespace.new("app", redis: client))
    30.times { |number| works(namespaced, "#{key}-#{number}") }
    %w[{}abc a{b }{].each do |name|
      error = assert_raises(Redis::CommandError) { ick.ickadd(name, 1, "a") }
      assert_match(/CROSSSLOT/, error.message)
    end
    client.close
  end

  def test_a_fork
    client = redis(inherit_socket: false)
    ick = Redis::Ick.new(client)
    ick.ickadd(key, 1, "parent")
    in_child do
      # redis-rb wants a connection of its own after a fork, which is the program's to make.
      works(Redis::Ick.new(Redis.new(url: Servers.shared.url)), "#{key}-child")
    end
    assert_equal 1, ick.ickstats(key)["pset_size"]
  end

  # A pool's wrapper forwards every method to one of its connections.
  class Wrapper < BasicObject
    def initialize(pool)
      @pool = pool
    end

    def respond_to?(name, include_all = false)
      @pool.first.respond_to?(name, include_all)
    end

    def respond_to_missing?(*)
      true
    end

    def method_missing(name, *arguments, &block)
      @pool.rotate!.first.public_send(name, *arguments, &block)
    end
  end

  def test_a_wrapper
    works(Redis::Ick.new(Wrapper.new([redis, redis])))
    return if GENERATION < 5

    require "connection_pool"
    works(Redis::Ick.new(ConnectionPool::Wrapper.new(size: 2) { Redis.new(url: Servers.shared.url) }))
  end

  # The least that a client needs: its replies are not known to come at once, so the source is sent.
  def test_a_client_of_another_kind
    client = redis
    other = Object.new
    other.define_singleton_method(:evalsha) { |*| raise "not known to reply at once" }
    other.define_singleton_method(:eval) { |*arguments| client.eval(*arguments) }
    works(Redis::Ick.new(other))
  end
end
