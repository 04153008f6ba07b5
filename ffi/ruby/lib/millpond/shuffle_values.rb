# frozen_string_literal: true

require "millpond/convert"

module Millpond
  # A message that was delivered to a consumer.
  #
  # Two messages are equal if all of their parts are equal.
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

    # For use in tests: consumers create their own messages.
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
    # @param name [String] the name of a field
    # @return [String, nil]
    # @raise [TypeError] for arguments of other types
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

    # The message's stream and id, for a consumer that acknowledges it later.
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

  class Reclaimed
    alias to_ary to_a
  end
end
