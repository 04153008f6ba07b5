# frozen_string_literal: true

require "millpond/shuffle_arguments"

module Millpond
  # Converts the results of shuffle queue calls to Ruby values; see {Convert}. Each method takes a
  # block that makes the call and gets the out-parameters for the result and the error.
  #
  # @api private
  module ShuffleResults
    MESSAGE_STRIDE = Native.millpond_shuffle_batch_stride
    LETTER_STRIDE = Native.millpond_shuffle_dead_letters_stride
    STATS_STRIDE = Native.millpond_shuffle_stats_stride
    private_constant :MESSAGE_STRIDE, :LETTER_STRIDE, :STATS_STRIDE

    # @return [Array<Message>, nil] nil for NULL
    def self.messages(encoding, &call)
      read_handle(:millpond_shuffle_batch_free, call) { |batch| read_messages(batch, encoding) }
    end

    # @return [Receipt]
    def self.receipt(&call)
      receipts(1, &call).first
    end

    # @return [Array<Receipt>]
    def self.receipts(count)
      out = FFI::MemoryPointer.new(Native::ShuffleReceipt.size, [count, 1].max)
      Call.check { |error| yield out, error }
      Native::ShuffleReceipt.rows(out, count).map do |stream, *id|
        Receipt.new(number(stream), id.join("-")).freeze
      end
    end

    # @return [Array<Receipt, nil>] nil where there is none
    def self.maybe_receipts(count, &call)
      receipts(count, &call).map { |receipt| receipt unless receipt.id == "0-0" }
    end

    # @return [Array<DeadLetter>]
    def self.dead_letters(encoding, &call)
      read_handle(:millpond_shuffle_dead_letters_free, call) do |letters|
        count = Native.millpond_shuffle_dead_letters_length(letters)
        data = Native.millpond_shuffle_dead_letters_data(letters)
        Native::ShuffleDeadLetter.rows(data, count, LETTER_STRIDE).map { |row| dead_letter(row, encoding) }
      end
    end

    # @return [ShuffleStats]
    def self.stats(&call)
      read_handle(:millpond_shuffle_stats_free, call) do |stats|
        data = Native.millpond_shuffle_stats_streams(stats)
        streams = stream_stats(data, Native.millpond_shuffle_stats_length(stats))
        total = stream_stats(Native.millpond_shuffle_stats_total(stats), 1).first
        ShuffleStats.new(streams.freeze, total.len, total.pending, total.lag).freeze
      end
    end

    # @return [Message]
    def self.message(pointer, encoding)
      stream, time, sequence, deliveries, data, count = Native::ShuffleMessage.rows(pointer, 1).first
      fields = Native::ShuffleField.rows(FFI::Pointer.new(data), count).map do |parts|
        parts.each_slice(2).map { |address, length| text(address, length, encoding) }
      end
      Message.new(number(stream), "#{time}-#{sequence}", fields, deliveries)
    end

    # Reads what a call returned as a handle, and frees the handle.
    def self.read_handle(free, call)
      out = FFI::MemoryPointer.new(:pointer)
      Call.check { |error| call.call(out, error) }
      pointer = out.read_pointer
      yield pointer unless pointer.null?
    ensure
      Native.public_send(free, out.read_pointer) if out
    end

    # Everything is copied in one step and cut by lengths: fields and bytes are stored without gaps.
    def self.read_messages(batch, encoding)
      bytes = Native.millpond_shuffle_batch_bytes(batch)
      bytes = bytes.read_bytes(Native.millpond_shuffle_batch_bytes_length(batch))
      start = 0
      cut = lambda do |length|
        text = Convert.text(bytes.byteslice(start, length), encoding)
        start += length
        text
      end
      data = Native.millpond_shuffle_batch_fields(batch)
      count = Native.millpond_shuffle_batch_fields_length(batch)
      fields = Native::ShuffleField.rows(data, count).map do |_, field_length, _, value_length|
        [cut.call(field_length), cut.call(value_length)].freeze
      end
      cut_messages(batch, fields)
    end

    def self.cut_messages(batch, fields)
      first = 0
      data = Native.millpond_shuffle_batch_messages(batch)
      count = Native.millpond_shuffle_batch_length(batch)
      Native::ShuffleMessage.rows(data, count, MESSAGE_STRIDE).map do |stream, time, sequence, deliveries, _, size|
        own = fields[first, size]
        first += size
        Message.new(number(stream), "#{time}-#{sequence}", own, deliveries)
      end
    end

    def self.dead_letter(row, encoding)
      time, sequence, group, group_length, consumer, consumer_length, message, reason, reason_length = row
      message = message(FFI::Pointer.new(message), encoding)
      DeadLetter.new("#{time}-#{sequence}", message, text(group, group_length, encoding),
                     text(consumer, consumer_length, encoding), message.deliveries,
                     text(reason, reason_length, Encoding::UTF_8)).freeze
    end

    def self.stream_stats(pointer, count)
      Native::ShuffleStreamStats.rows(pointer, count, STATS_STRIDE).map do |len, pending, lag, idle|
        StreamStats.new(len, pending, lag, idle == Native::NOT_SET ? nil : idle / 1000.0).freeze
      end
    end

    def self.text(address, length, encoding)
      Convert.text(FFI::Pointer.new(address).read_bytes(length), encoding)
    end

    # @return [Integer, nil] the number of a stream; nil for the default stream
    def self.number(stream)
      stream.negative? ? nil : stream
    end
    private_class_method :read_handle, :read_messages, :cut_messages, :dead_letter, :stream_stats,
                         :text, :number
  end
end
