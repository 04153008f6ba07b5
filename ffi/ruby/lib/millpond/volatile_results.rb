# frozen_string_literal: true

require "millpond/contents"
require "millpond/record"

module Millpond
  # Converts the results of calls of volatile hashes; see {Convert}.
  #
  # @api private
  module VolatileResults
    # Makes a call that returns a result, copies the result and frees it.
    #
    # @yield the out-parameters for the result and the error
    # @return [Contents, nil] nil for NULL
    def self.of(encoding)
      out = FFI::MemoryPointer.new(:pointer)
      Call.check { |error| yield out, error }
      pointer = out.read_pointer
      Contents.new(Native.millpond_volatile_result_data(pointer), encoding) unless pointer.null?
    ensure
      Native.millpond_volatile_result_free(out.read_pointer) if out
    end

    # What a result holds.
    class Contents < Millpond::Contents
      attr_reader :fields, :next, :values, :value_or_lock, :acquired, :holder, :stats, :reaped

      def initialize(pointer, encoding)
        super(Native::VolatileData.new(pointer), encoding)
        @fields = rows(:fields, :field_count, Native::HashField, :field_size).map do |row|
          Records.hash_field(row, self)
        end
        @next = one(:next, Native::FieldPosition, :field_position)
        @values = rows(:values, :value_count, Native::Bytes).map { |row| bytes(*row)&.dup }
        @value_or_lock = one(:value_or_lock, Native::ValueOrLock, :value_or_lock)
        @acquired = one(:acquired, Native::LockAcquired, :lock_acquired)
        @holder = one(:holder, Native::LockHolder, :lock_holder)
        @stats = one(:stats, Native::HashStats, :hash_stats)
        @reaped = one(:reaped, Native::HashReaped, :hash_reaped)
      end
    end
  end
end
