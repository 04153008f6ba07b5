# frozen_string_literal: true

require "millpond"
require "redis"
require "redis/ick/connection"
require "redis/ick/version"

# The client of the gem redis.
class Redis
  # A drop-in replacement for the gem redis-ick: the same methods, results and data in Redis, sent
  # through the same redis-rb object. It is stateless: each call names its Ick.
  #
  # Inside `pipelined` and `multi` every method returns a `Redis::Future`. An error of the server is a
  # `Redis::CommandError`.
  #
  # redis-rb resends a call if the connection drops before the reply; an {#ickexchange} or {#ickcommit}
  # that runs twice can remove a member that was flagged again in between. A connection with
  # `reconnect_attempts: 0` does not resend.
  #
  # @example
  #   ick = Redis::Ick.new(Redis.new)
  #   ick.ickadd("files", 2, "b.txt", 1, "a.txt") # => [2, 0]
  #   ick.ickreserve("files", 10) # => [["a.txt", 1.0], ["b.txt", 2.0]]
  #   ick.ickcommit("files", "a.txt", "b.txt") # => 2
  class Ick
    ADD = Millpond::Script.find("ick.add")
    RESERVE = Millpond::Script.find("ick.reserve")
    COMMIT = Millpond::Script.find("ick.commit")
    EXCHANGE = Millpond::Script.find("ick.exchange")
    STATS = Millpond::Script.find("ick.stats")
    DELETE = Millpond::Script.find("ick.delete")
    # ARGV[1] of steps that no consumer lease fences.
    UNFENCED = ""
    # ARGV[1] of an add in which every member has a score.
    UNSTAMPED = "0"
    # ARGV[2] of a delete that leaves a broken Ick alone.
    CHECKED = "1"
    # The numbers that Redis and Ruby read in the same way.
    PRINTED = /\A[-+]?[\d.]+(?:e[-+]?\d+)?\z/i.freeze
    # How many names have their keys cached, so that a process with few names asks once for each.
    NAMES_MAX = 1_000
    private_constant :ADD, :RESERVE, :COMMIT, :EXCHANGE, :STATS, :DELETE, :UNFENCED, :UNSTAMPED,
                     :CHECKED, :PRINTED, :NAMES_MAX

    # @return [Redis] the object that calls are sent through
    attr_accessor :redis

    # @return [Object, nil] the object that metrics are sent to
    attr_accessor :statsd

    # @param redis [Redis, Redis::Namespace, Redis::PipelinedConnection] or any other object with the
    #   methods of a Redis client
    # @param statsd [#increment, #timing, #time, nil] gets a count and timings of each call, under
    #   names that begin with profile.ick
    # @raise [ArgumentError] for any other object
    #
    # @example
    #   Redis::Ick.new(Redis.new).statsd # => nil
    def initialize(redis, statsd: nil)
      unless redis.respond_to?(:evalsha)
        raise ArgumentError, "redis has to be a Redis client, not #{redis.class}"
      end

      missing = statsd && %i[increment timing time].find { |name| !statsd.respond_to?(name) }
      raise ArgumentError, "statsd has no method #{missing}" if missing

      @redis = redis
      @statsd = statsd
      @keys = {}
    end

    # Removes the Ick's keys. {Millpond::Ick#delete} removes them regardless of what they hold.
    #
    # @param ick_key [String] the Ick
    # @param unlink [Boolean] uses UNLINK, so that Redis frees the memory in the background
    # @return [Integer, Redis::Future] how many keys there were
    # @raise [ArgumentError] for a wrong argument
    # @raise [Redis::CommandError] if the keys hold something else
    #
    # @example
    #   ick = Redis::Ick.new(Redis.new)
    #   ick.ickadd("files", 1, "a.txt")
    #   ick.ickdel("files") # => 2
    def ickdel(ick_key, unlink: false)
      check_key(ick_key)
      metric = unlink ? "profile.ick.ickunlink" : "profile.ick.ickdel"
      _statsd_increment("#{metric}.calls")
      _statsd_time("#{metric}.time") do
        run(DELETE, ick_key, [unlink ? "UNLINK" : "DEL", CHECKED])
      end
    end

    # {#ickdel} with UNLINK.
    #
    # @param ick_key [String] the Ick
    # @return [Integer, Redis::Future] how many keys there were
    # @raise (see #ickdel)
    #
    # @example
    #   Redis::Ick.new(Redis.new).ickunlink("files") # => 0
    def ickunlink(ick_key)
      ickdel(ick_key, unlink: true)
    end

    # The sizes and score ranges of both sets.
    #
    # @param ick_key [String] the Ick
    # @return [Hash{String => Object}, nil, Redis::Future] "ver", "key", "pset_key", "cset_key",
    #   "pset_size", "cset_size", "total_size" and, where a set is not empty, "pset_min",
    #   "pset_max", "cset_min", "cset_max", "total_min" and "total_max"; whole scores from 0 are
    #   Integers, the others Floats. nil if there is no such Ick.
    # @raise (see #ickdel)
    #
    # @example
    #   ick = Redis::Ick.new(Redis.new)
    #   ick.ickadd("files", 1.5, "a.txt")
    #   ick.ickstats("files").values_at("ver", "pset_size", "pset_min") # => ["ick.v1", 1, 1.5]
    def ickstats(ick_key)
      check_key(ick_key)
      _statsd_increment("profile.ick.ickstats.calls")
      reply = _statsd_time("profile.ick.time.ickstats") { run(STATS, ick_key, []) }
      keys = keys_within(ick_key)
      Connection.converted(reply) { |values| stats(keys, values) }
    end

    # Flags members as dirty: each keeps the lower of its old and its new score.
    #
    # @param ick_key [String] the Ick
    # @param score_member_pairs [Array<Numeric, String>] score, member, score, member, …
    # @return [Array(Integer, Integer), Redis::Future] how many members are new, and how many got a
    #   lower score
    # @raise [ArgumentError] for a wrong argument, such as a score that is not a number or that a
    #   Float cannot hold
    # @raise [Redis::CommandError] if the keys hold something else
    #
    # @example
    #   ick = Redis::Ick.new(Redis.new)
    #   ick.ickadd("files", 2, "a.txt", 2, "b.txt") # => [2, 0]
    #   ick.ickadd("files", 1, "a.txt", 3, "b.txt") # => [0, 1]
    def ickadd(ick_key, *score_member_pairs)
      check_key(ick_key)
      argv = added(score_member_pairs)
      _statsd_increment("profile.ick.ickadd.calls")
      _statsd_timing("profile.ick.ickadd.pairs", score_member_pairs.size / 2)
      _statsd_time("profile.ick.time.ickadd") { run(ADD, ick_key, argv) }
    end

    # Moves the lowest members to the consumer set until it holds `max_size`, and returns its first
    # `max_size` members. The batch includes members that were reserved before and not committed.
    #
    # @param ick_key [String] the Ick
    # @param max_size [Integer] members, below 10^17
    # @param backwash [Boolean] first folds all reserved members back, so that the batch holds the
    #   lowest scores of both sets
    # @return [Array<Array(String, Float)>, Redis::Future] members and scores, lowest first
    # @raise [ArgumentError] for a wrong argument
    # @raise [Redis::CommandError] if the keys hold something else, or for a size of 10^17 or more
    #
    # @example
    #   ick = Redis::Ick.new(Redis.new)
    #   ick.ickadd("files", 2, "b.txt", 1, "a.txt")
    #   ick.ickreserve("files", 1) # => [["a.txt", 1.0]]
    def ickreserve(ick_key, max_size = 0, backwash: false)
      check_key(ick_key)
      check_size("max_size", max_size)
      _statsd_increment("profile.ick.ickreserve.calls")
      _statsd_timing("profile.ick.ickreserve.max_size", max_size)
      reply = _statsd_time("profile.ick.time.ickreserve") do
        run(RESERVE, ick_key, [UNFENCED, max_size, backwash ? 1 : 0])
      end
      Connection.converted(reply) { |values| pairs(values) }
    end

    # Removes members that are done from the consumer set. A member that was added again since it was
    # reserved stays dirty.
    #
    # @param ick_key [String] the Ick
    # @param members [Array<String, Array(String, Numeric)>] members, or pairs as {#ickreserve} returns
    #   them, whose scores are ignored
    # @return [Integer, Redis::Future] how many of them were reserved
    # @raise [ArgumentError] for a wrong argument
    # @raise [Redis::CommandError] if the keys hold something else
    #
    # @example
    #   ick = Redis::Ick.new(Redis.new)
    #   ick.ickadd("files", 1, "a.txt")
    #   batch = ick.ickreserve("files", 1) # => [["a.txt", 1.0]]
    #   ick.ickcommit("files", *batch) # => 1
    #   ick.ickcommit("files", "a.txt", "never reserved") # => 0
    def ickcommit(ick_key, *members)
      check_key(ick_key)
      members = members_of(members)
      _statsd_increment("profile.ick.ickcommit.calls")
      _statsd_timing("profile.ick.ickcommit.members", members.size)
      _statsd_time("profile.ick.time.ickcommit") { run(COMMIT, ick_key, [UNFENCED, *members]) }
    end

    # {#ickcommit} and {#ickreserve} in one step: one round trip per batch.
    #
    # @param ick_key [String] the Ick
    # @param reserve_size [Integer] members to reserve, below 10^17
    # @param commit_members [Array<String, Array(String, Numeric)>] members to commit, or pairs as this
    #   method returns them
    # @param backwash [Boolean] as in {#ickreserve}
    # @return [Array<Array(String, Float)>, Redis::Future] members and scores, lowest first
    # @raise (see #ickreserve)
    #
    # @example
    #   ick = Redis::Ick.new(Redis.new)
    #   ick.ickadd("files", 1, "a.txt", 2, "b.txt")
    #   batch = ick.ickexchange("files", 1) # => [["a.txt", 1.0]]
    #   batch = ick.ickexchange("files", 1, *batch) # => [["b.txt", 2.0]]
    #   ick.ickexchange("files", 0, "b.txt") # => []
    def ickexchange(ick_key, reserve_size, *commit_members, backwash: false)
      check_key(ick_key)
      check_size("reserve_size", reserve_size)
      commit_members = members_of(commit_members)
      _statsd_increment("profile.ick.ickexchange.calls")
      _statsd_timing("profile.ick.ickexchange.reserve_size", reserve_size)
      _statsd_timing("profile.ick.ickexchange.commit_members", commit_members.size)
      reply = _statsd_time("profile.ick.time.ickexchange") do
        run(EXCHANGE, ick_key, [UNFENCED, reserve_size, backwash ? 1 : 0, *commit_members])
      end
      Connection.converted(reply) { |values| pairs(values) }
    end

    # Increments a metric, if there is a statsd.
    #
    # @param metric [String]
    # @return [Object]
    #
    # @example
    #   Redis::Ick.new(Redis.new)._statsd_increment("profile.mine") # => nil
    def _statsd_increment(metric)
      statsd&.increment(metric)
    end

    # Reports a number on a metric, if there is a statsd.
    #
    # @param metric [String]
    # @param time [Numeric]
    # @return [Object]
    #
    # @example
    #   Redis::Ick.new(Redis.new)._statsd_timing("profile.mine", 7) # => nil
    def _statsd_timing(metric, time)
      statsd&.timing(metric, time)
    end

    # Reports the duration of the block on a metric, if there is a statsd.
    #
    # @param metric [String]
    # @return [Object, nil] what the block returns
    #
    # @example
    #   Redis::Ick.new(Redis.new)._statsd_time("profile.mine") { 7 } # => 7
    def _statsd_time(metric)
      return (yield if block_given?) unless statsd

      # Not every statsd returns the block's result.
      result = nil
      statsd.time(metric) { result = yield if block_given? }
      result
    end

    # Reads a score as Redis prints it.
    #
    # @param str [String] a number, inf or -inf
    # @return [Float]
    # @raise [ArgumentError] for anything else
    #
    # @example
    #   Redis::Ick._floatify("-inf") # => -Infinity
    def self._floatify(str)
      raise ArgumentError, "a score has to be a String, not #{str.class}" unless str.is_a?(String)

      Float(str)
    rescue ArgumentError
      raise unless (infinity = /\A(-)?inf/i.match(str.to_s))

      infinity[1] ? -Float::INFINITY : Float::INFINITY
    end

    private

    def run(script, ick_key, argv)
      redis, prefix = Connection.within_namespaces(@redis)
      Connection.run(redis, script, keys_of(full_name(prefix, ick_key)), argv)
    end

    def full_name(prefix, ick_key)
      prefix.empty? ? ick_key : prefix.b << ick_key.b
    end

    def keys_of(name)
      @keys[name] || begin
        # Another thread may still be reading the old one.
        @keys = {} if @keys.size >= NAMES_MAX
        name = name.dup.freeze
        # In the encoding of the name, since not every redis-rb can send strings in several encodings
        # together.
        keys = Millpond::Ick.keys(name).each { |key| key.force_encoding(name.encoding).freeze }
        @keys[name] = keys.freeze
      end
    end

    # The keys as the caller's object takes them, without the prefix that its namespaces add.
    def keys_within(ick_key)
      prefix = Connection.within_namespaces(@redis).last
      keys_of(full_name(prefix, ick_key)).map do |key|
        key.byteslice(prefix.bytesize..-1).force_encoding(ick_key.encoding)
      end
    end

    # ARGV of an add. This loops over indices, since the loop is most of what a large add costs.
    def added(score_member_pairs)
      if score_member_pairs.size.odd?
        raise ArgumentError, "expected score, member, score, member, ..., but the last of " \
                             "#{score_member_pairs.size} arguments has no partner"
      end

      argv = [UNSTAMPED].concat(score_member_pairs)
      index = 1
      while index < argv.size
        score = argv[index]
        argv[index] = printed(score) unless plain?(score)
        member = argv[index + 1]
        raise ArgumentError, "a member has to be a String, not #{member.class}" unless String === member

        index += 2
      end
      argv
    end

    # Whether redis-rb prints this score in a form that Redis reads.
    def plain?(score)
      return score == score if Float === score

      Integer === score && score <= Float::MAX && score >= -Float::MAX
    end

    # A score of another class, in a form that Redis reads. It has to refuse what Redis refuses, since
    # Redis may do so too late: after adding the pairs before it.
    def printed(score)
      raise ArgumentError, "a score has to be a Numeric, not #{score.class}" unless score.is_a?(Numeric)
      return score.positive? ? "inf" : "-inf" if score.real? && score.infinite?

      printed = score.to_s
      number = PRINTED.match?(printed) && Float(printed, exception: false)
      underflow = number && number.zero? && printed[/\A[^e]*/i].match?(/[1-9]/)
      return printed if number && number.finite? && !underflow

      raise ArgumentError, "the score #{printed} is none that Redis can hold"
    end

    def check_key(ick_key)
      return if ick_key.is_a?(String)

      raise ArgumentError, "ick_key has to be a String, not #{ick_key.class}"
    end

    def check_size(argument, size)
      raise ArgumentError, "#{argument} has to be an Integer, not #{size.class}" unless size.is_a?(Integer)
      raise ArgumentError, "#{argument} is #{size}; it has to be 0 or more" if size.negative?
    end

    # The members, without the scores of pairs.
    def members_of(members)
      members.map do |member|
        next member if member.is_a?(String)

        first, score, *more = member if member.is_a?(Array)
        next first if first.is_a?(String) && score.is_a?(Numeric) && more.empty?

        raise ArgumentError, "a member has to be a String or [String, score], not #{member.class}; " \
                             "a list of them needs an asterisk: *members"
      end
    end

    def pairs(values)
      pairs = []
      index = 0
      while index < values.size
        pairs << [values[index], Ick._floatify(values[index + 1])]
        index += 2
      end
      pairs
    end

    def stats(keys, values)
      ver, pset_size, cset_size, *range = values
      pset_min, pset_max, cset_min, cset_max = range.map { |score| score && Ick._floatify(score) }
      found = {
        "key" => keys[0], "pset_key" => keys[1], "cset_key" => keys[2], "ver" => ver,
        "cset_size" => cset_size, "pset_size" => pset_size, "total_size" => cset_size + pset_size,
        "pset_min" => pset_min, "pset_max" => pset_max,
        "cset_min" => cset_min, "cset_max" => cset_max,
        "total_min" => [pset_min, cset_min].compact.min,
        "total_max" => [pset_max, cset_max].compact.max
      }
      found.compact.transform_values { |value| value.is_a?(Float) ? whole(value) : value }
    end

    # Numbers as in the gem: Integers where only digits were printed.
    def whole(score)
      score.finite? && score >= 0 && score % 1 == 0 ? score.to_i : score
    end
  end
end
