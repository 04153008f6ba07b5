# frozen_string_literal: true

require "redis"

class Redis
  class Ick
    # Sends scripts through the object of redis-rb that the caller gave us, whatever it is: a client,
    # a pipeline, a transaction, or a namespace around one of these; of redis-rb 4 or 5.
    #
    # @api private
    module Connection
      # A transaction without a block, whose replies arrive together at the end. If the server did
      # not know the script, EXEC would do everything but this step.
      IN_OPEN_MULTI = "an Ick cannot be used between a multi without a block and its exec; discard " \
                      "this transaction, and give multi a block"
      private_constant :IN_OPEN_MULTI

      # An Ick in a namespace is the Ick of the full name, for which the keys are derived: so it lies
      # in one slot of a cluster, and other clients find it by that name.
      #
      # @return [Array(Object, String)] what is inside of all namespaces, and what they put before a
      #   name
      def self.within_namespaces(redis)
        prefix = ""
        while defined?(::Redis::Namespace) && ::Redis::Namespace === redis
          namespace = redis.namespace
          prefix = "#{namespace}:#{prefix}" if namespace
          redis = redis.redis
        end
        [redis, prefix]
      end

      # Runs a script by its SHA1, or by its source where the server does not know it. Inside of a
      # pipeline that is not known in time, so there the source is sent at once.
      #
      # @return [Object] the reply, or a future of it
      # @raise [Redis::BaseError] inside of a multi without a block
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

      # Everything as bytes: the source is no ASCII, and not every redis-rb can send it together with
      # members in another encoding.
      def self.run_source(redis, script, keys, argv)
        argv = argv.map { |value| value.is_a?(String) ? value.b : value }
        redis.eval(script.source.b, keys.map(&:b), argv)
      end
      private_class_method :run_source

      # Calls the block with the reply if it is a list: at once, or when the future has it. What else
      # comes stays as it is: nil, an error, or the QUEUED of a transaction, after which the future of
      # one inside of a pipeline gets its reply.
      #
      # @return [Object] what the block made of it, or the future
      def self.converted(reply, &convert)
        return ::Array === reply ? convert.call(reply) : reply unless ::Redis::Future === reply

        # A future is a BasicObject that redis-rb gives its value by _set.
        (class << reply; self; end).define_method(:_set) do |object|
          super(::Array === object ? convert.call(object) : object)
        end
        reply
      end

      # While a block of redis-rb 4's pipelined or multi runs, the client inside of the object is a
      # pipeline; and the object that the block of any version gets has no client at all.
      def self.replies_at_once?(redis)
        redis.respond_to?(:_client) && ANSWERS_AT_ONCE[redis._client.class]
      end
      private_class_method :replies_at_once?

      # What sends a command and returns the reply, in redis-rb 4 and 5, without and with a
      # cluster. Not all of these classes exist in every version, hence the names.
      CLIENTS = %w[Redis::Client Redis::Cluster RedisClient RedisClient::Cluster].freeze
      ANSWERS_AT_ONCE = Hash.new do |known, kind|
        known[kind] = kind.ancestors.any? { |ancestor| CLIENTS.include?(ancestor.name) }
      end
      private_constant :CLIENTS, :ANSWERS_AT_ONCE
    end
  end
end
