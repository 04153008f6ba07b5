# frozen_string_literal: true

require "millpond/convert"
require "millpond/record"
require "millpond/shuffle_values"

module Millpond
  # Converts the arguments of shuffle queue calls for the library; see {Convert}.
  #
  # @api private
  module ShuffleArguments
    TRACK_KEYS = { global: 1, queue: 2 }.freeze
    ID = /\A(\d{1,20})-(\d{1,20})\z/.freeze

    # Messages to write. The list exists until the block ends.
    #
    # @yieldparam list [FFI::Pointer]
    # @yieldparam count [Integer] how many there are
    def self.messages(values)
      keys = []
      bytes = 0
      fields = Convert.elements("messages", values, Convert::LIMITS[:items]).each_with_index.map do |message, index|
        unless message.is_a?(Array) && message.size == 2
          raise Convert.wrong_type("messages[#{index}]", "[shard_key, fields]", message)
        end

        keys << Convert.string(message[0]) { "messages[#{index}][0]" }
        strings = Convert.field_strings("messages[#{index}][1]", message[1])
        bytes = Convert.check_bytes(strings, bytes)
        strings
      end
      rows, = Convert.texts(fields.flatten(1))
      address = rows ? rows.address : 0
      list, count = Convert.list(Native::ShuffleNewMessage, keys) do |row, index, key, bytes|
        size = fields[index].size / 2
        row << Native::ShuffleNewMessage.size << key << bytes.bytesize << address << size
        address += size * Native::ShuffleField.size
      end
      yield list, count
    end

    # One message or many, or their receipts.
    #
    # @return [Array(FFI::Pointer, Integer)] the list of receipts and how many there are
    def self.receipts(values)
      values = [values] if receipt?(values)
      numbers = Convert.elements("messages", values, Convert::LIMITS[:items]).each_with_index.flat_map do |value, index|
        Convert.one_of("messages[#{index}]", value, Message, Receipt)
        receipt("messages[#{index}]", value.stream, value.id)
      end
      count = numbers.size / 3
      return [nil, 0] if count.zero?

      memory = FFI::MemoryPointer.new(Native::ShuffleReceipt.size, count, false)
      [memory.put_bytes(0, numbers.pack(Native::ShuffleReceipt.format * count)), count]
    end

    # One dead letter or many, or their ids.
    #
    # @return [Array(FFI::Pointer, Integer)] the list of ids and how many there are
    def self.letter_ids(values)
      values = [values] if values.is_a?(DeadLetter) || values.is_a?(String)
      numbers = Convert.elements("letters", values, Convert::LIMITS[:items]).each_with_index.flat_map do |value, index|
        id = value.is_a?(DeadLetter) ? value.id : value
        raise Convert.wrong_type("letters[#{index}]", "a DeadLetter or its id", value) unless id.is_a?(String)

        id_numbers("letters[#{index}]", id)
      end
      count = numbers.size / 2
      return [nil, 0] if count.zero?

      memory = FFI::MemoryPointer.new(Native::ShuffleId.size, count, false)
      [memory.put_bytes(0, numbers.pack("Q*")), count]
    end

    # @return [Integer] seconds since the Unix epoch; 0 for none
    def self.deadline(value)
      return 0 if value.nil?
      raise Convert.wrong_type("deadline", "an Integer", value) unless value.is_a?(Integer)
      return value if value.bit_length < 64

      raise Convert.invalid("deadline is #{value}; it has to be within 2^53 seconds of the epoch")
    end

    # @return [Integer] where the records of tracked messages are
    def self.track_keys(value)
      TRACK_KEYS.fetch(value) do
        raise Convert.invalid("track_keys is #{value.inspect}; it has to be :global or :queue")
      end
    end

    def self.receipt?(value)
      value.is_a?(Message) || value.is_a?(Receipt)
    end

    def self.receipt(argument, stream, id)
      number = stream.nil? ? -1 : Convert.small_size("#{argument}.stream", stream)
      raise Convert.wrong_type("#{argument}.id", "a String", id) unless id.is_a?(String)

      [number, *id_numbers("#{argument}.id", id)]
    end

    def self.id_numbers(argument, id)
      parts = ID.match(id.b)&.captures&.map(&:to_i)
      return parts if parts && parts.max <= Convert::SIZE_MAX

      raise Convert.invalid("#{argument} is #{id.inspect}; an id has the form of 1700000000000-0")
    end

    private_class_method :receipt?, :receipt, :id_numbers
  end
end
