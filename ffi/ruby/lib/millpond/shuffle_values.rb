# frozen_string_literal: true

require "millpond/convert"

module Millpond
  # Where a message of a shuffle queue is: what acknowledging takes. It can be made of what another
  # program kept of a message.
  #
  # @!attribute [r] stream
  #   @return [Integer, nil] the number of the stream; nil for the default stream
  # @!attribute [r] id
  #   @return [String] the message's id in it, such as "1700000000000-3"
  #
  # @example
  #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
  #   queue.write("tenant-7", { "image" => "a.png" })
  #   consumer = queue.consumer("workers", "worker-1")
  #   message = consumer.read
  #   consumer.ack(Millpond::Receipt.new(message.stream, message.id)) # => 1
  Receipt = Struct.new(:stream, :id)

  # A message of a shuffle queue that was delivered to a consumer. Two are equal if all of their parts
  # are.
  class Message
    # @return [Integer, nil] the number of its stream; nil for the default stream
    attr_reader :stream

    # @return [String] its id in the stream, such as "1700000000000-3"
    attr_reader :id

    # @return [Array<Array(String, String)>] its fields and their values, in the order in which they
    #   were written; frozen
    attr_reader :fields

    # @return [Integer] how often it was delivered, this time included: 1 after a read, more after a
    #   reclaim
    attr_reader :deliveries

    # For tests of programs: consumers make their messages themselves.
    #
    # @param stream [Integer, nil]
    # @param id [String]
    # @param fields [Array<Array(String, String)>]
    # @param deliveries [Integer]
    # @example
    #   Millpond::Message.new(3, "1-0", [["image", "a.png"]])["image"] # => "a.png"
    def initialize(stream, id, fields, deliveries = 1)
      @stream = stream
      @id = id
      @fields = fields.map { |pair| pair.frozen? ? pair : pair.dup.freeze }.freeze
      @deliveries = deliveries
      freeze
    end

    # The value of the first field of this name.
    #
    # @param name [String] its bytes are what counts
    # @return [String, nil] nil if there is none
    # @raise [TypeError] for anything but a String
    #
    # @example
    #   message = Millpond::Message.new(3, "1-0", [["tag", "new"], ["tag", "large"]])
    #   message.field("tag") # => "new"
    #   message["image"] # => nil
    #   message.fields.map(&:last) # => ["new", "large"]
    def field(name)
      wanted = Convert.bytes("name", name).b
      found = @fields.find { |field, _| field == wanted || field.b == wanted }
      found && found[1]
    end
    alias [] field

    # Where it is, for a consumer that acknowledges it later.
    #
    # @return [Receipt]
    #
    # @example
    #   Millpond::Message.new(3, "1-0", [["image", "a.png"]]).receipt.stream # => 3
    def receipt
      Receipt.new(@stream, @id).freeze
    end

    # Whether the other one is a message with the same stream, id, fields and deliveries.
    #
    # @param other [Object]
    # @return [Boolean]
    #
    # @example
    #   message = Millpond::Message.new(3, "1-0", [["image", "a.png"]])
    #   message == Millpond::Message.new(3, "1-0", [["image", "a.png"]]) # => true
    #   message == Millpond::Message.new(3, "1-0", [["image", "b.png"]]) # => false
    def ==(other)
      other.instance_of?(self.class) && parts == other.parts
    end
    alias eql? ==

    # @api private
    def hash
      parts.hash
    end

    # @api private
    def parts
      [@stream, @id, @fields, @deliveries]
    end
    protected :parts
  end

  # What reclaiming did.
  #
  # @!attribute [r] messages
  #   @return [Array<Message>] what was taken over
  # @!attribute [r] dead
  #   @return [Integer] how many messages became dead letters
  #
  # @example It is a pair.
  #   consumer = Millpond.connect("memory:").shuffle_queue("jobs").consumer("workers", "worker-1")
  #   messages, dead = consumer.reclaim(min_idle: 60, max: 100)
  #   [messages, dead] # => [[], 0]
  Reclaimed = Struct.new(:messages, :dead)

  # See above.
  class Reclaimed
    alias to_ary to_a
  end

  # A message that was delivered too often without being acknowledged, and its history.
  #
  # @!attribute [r] id
  #   @return [String] its id among the dead letters
  # @!attribute [r] message
  #   @return [Message] the message as it was
  # @!attribute [r] group
  #   @return [String] the group that it was delivered to
  # @!attribute [r] consumer
  #   @return [String] the last consumer that it was delivered to
  # @!attribute [r] deliveries
  #   @return [Integer] how often it was delivered
  DeadLetter = Struct.new(:id, :message, :group, :consumer, :deliveries)

  # What a stream of a shuffle queue holds for a group.
  #
  # @!attribute [r] len
  #   @return [Integer] entries, finished ones included
  # @!attribute [r] pending
  #   @return [Integer] messages delivered to the group and not acknowledged
  # @!attribute [r] lag
  #   @return [Integer] messages not yet delivered to the group. After messages were deleted in
  #     between, and on Redis before 7, it may be as high as `len` where it should be less.
  # @!attribute [r] oldest_idle
  #   @return [Float, nil] how many seconds ago the oldest pending message was last delivered;
  #     nil if there is none
  StreamStats = Struct.new(:len, :pending, :lag, :oldest_idle)

  # What a shuffle queue holds for a group.
  #
  # @!attribute [r] streams
  #   @return [Array<StreamStats>] each stream, by its number
  # @!attribute [r] len
  #   @return [Integer] entries in all streams
  # @!attribute [r] pending
  #   @return [Integer] messages in all streams delivered to the group and not acknowledged
  # @!attribute [r] lag
  #   @return [Integer] messages in all streams not yet delivered to the group
  #
  # @example
  #   queue = Millpond.connect("memory:").shuffle_queue("jobs", streams: 4)
  #   queue.write("tenant-7", { "image" => "a.png" })
  #   stats = queue.stats("workers")
  #   [stats.len, stats.lag, stats.pending, stats.streams.size] # => [1, 1, 0, 4]
  ShuffleStats = Struct.new(:streams, :len, :pending, :lag)
end
