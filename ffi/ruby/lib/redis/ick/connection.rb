# frozen_string_literal: true

require "redis"

class Redis
  class Ick
    # Sends scripts through the caller's redis-rb object, whatever it is: a client, a pipeline, a
    # transaction, or a namespace around one of these, in redis-rb 4 or 5.
    #
    # @api private
    module Connection
      # A transaction without a block, whose replies arrive together at the end. If the server did
      # not know the script, EXEC would run everything except this step.
      IN_OPEN_MULTI = "an Ick cannot be used between a multi without a block and its exec; discard " \
                      "this transaction, and give multi a block"
      private_constant :IN_OPEN_MULTI

      # An Ick in a namespace is the Ick with the full name, and its keys are derived from that
      # name: so it lies in one slot of a cluster, and other clients find it by that name.
      #
      # @return [Array(Object, String)] the object inside all namespaces, and the prefix that they
      #   put before a name
      def self.within_namespaces(redis)
        prefix = ""
        while defined?(::Redis::Namespace) && ::Redis::Namespace === redis
          namespace = redis.namespace
          prefix = "#{namespace}:#{prefix}" if namespace
          redis = redis.redis
        end
        [redis, prefix]
      end

      # Runs a script by its SHA1, or by its source if the server does not know it. Inside a
      # pipeline that is not known in time, so the source is sent right away.
      #
      # @return [Object] the reply, or a future of it
      # @raise [Redis::BaseError] inside a multi without a block
      def self.run(redis, script, keys, argv)
        return run_source(redis, script, keys, argv) unless replies_at_once?(redis)

        reply = begin
          redis.evalsha(script.sha1, keys, argv)
        rescue ::Redis::CommandError => failure
          raise unless failure.message.start_with?("NOSCRIPT")

          run_source(redis, script, keys, argv)
        end
        raise ::Redis::BaseError, IN_OPEN_MULTI if reply == "QUEUED"

        reply
      end

      # Everything is sent as bytes: the source is not ASCII, and not every redis-rb can send it
      # together with members in another encoding.
      def self.run_source(redis, script, keys, argv)
        argv = argv.map { |value| value.is_a?(String) ? value.b : value }
        redis.eval(script.source.b, keys.map(&:b), argv)
      end
      private_class_method :run_source

      # Calls the block with the reply if it is a list: immediately, or when the future has it. Any
      # other reply is left as it is: nil, an error, or the QUEUED of a transaction; the future of a
      # transaction inside a pipeline gets its reply after that.
      #
      # @return [Object] the block's result, or the future
      def self.converted(reply, &convert)
        return ::Array === reply ? convert.call(reply) : reply unless ::Redis::Future === reply

        # A future is a BasicObject whose value redis-rb sets with _set.
        (class << reply; self; end).define_method(:_set) do |object|
          super(::Array === object ? convert.call(object) : object)
        end
        reply
      end

      # While a block of redis-rb 4's pipelined or multi runs, the client inside the object is a
      # pipeline; and the object that the block gets, in any version, has no client at all.
      def self.replies_at_once?(redis)
        redis.respond_to?(:_client) && ANSWERS_AT_ONCE[redis._client.class]
      end
      private_class_method :replies_at_once?

      # The classes that send a command and return the reply, in redis-rb 4 and 5, with and without
      # a cluster. Not all of them exist in every version, hence the names.
      CLIENTS = %w[Redis::Client Redis::Cluster RedisClient RedisClient::Cluster].freeze
      ANSWERS_AT_ONCE = Hash.new do |known, kind|
        known[kind] = kind.ancestors.any? { |ancestor| CLIENTS.include?(ancestor.name) }
      end
      private_constant :CLIENTS, :ANSWERS_AT_ONCE
    end
  end
end
