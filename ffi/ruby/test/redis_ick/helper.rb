# frozen_string_literal: true

$LOAD_PATH.unshift(File.expand_path("../redis_rb/namespace", __dir__))
require_relative "../helper"
require "redis"
require "redis-namespace"
require "redis/ick"

# What old blocks without a parameter make redis-rb 4 say is not what these tests are about.
Redis.silence_deprecations = true if Redis.respond_to?(:silence_deprecations=)

# Tests of the drop-in, with whatever redis-rb is on the load path.
class RedisIckTest < MillpondTest
  GENERATION = Redis::VERSION.to_i
  # Until redis-rb 5, a block without a parameter puts the client itself into a pipeline.
  IMPLICIT_PIPELINES = GENERATION < 5

  def redis(**options)
    connected = Redis.new(url: Servers.shared.url, **options)
    (@connected ||= []) << connected
    connected
  end

  def ick(redis = self.redis, **options)
    Redis::Ick.new(redis, **options)
  end

  def key
    name_of_queue
  end

  def teardown
    @connected&.each(&:close)
    super
  end

  # The commands that the server gets while the block runs.
  def commands(admin = redis)
    count = lambda do
      admin.info(:commandstats).transform_values { |stats| Integer(stats["calls"] || stats[/calls=(\d+)/, 1]) }
    end
    before = count.call
    yield
    count.call.to_h { |name, calls| [name, calls - before.fetch(name, 0)] }.reject { |_, calls| calls.zero? }
  end
end
