# frozen_string_literal: true

require "millpond/shuffle_answers"

module Millpond
  # Values of tracked messages whose deadline has passed, in batches; made by {ShuffleQueue#gc}. Asking
  # for the next batch deletes what is recorded of the last one; whoever stops keeps that one for the
  # next collection. The messages themselves stay. One thread at a time uses it.
  #
  # @example
  #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
  #   queue.write_tracked("tenant-7", { "job" => "j-1" }, "job", deadline: 1_000_000_000)
  #   garbage = queue.gc
  #   garbage.to_a # => [["j-1"]]
  #   garbage.deleted # => 1
  #   queue.delete_tracked("j-1") # => nil
  class Garbage
    include Enumerable

    # @api private
    def initialize(native, encoding)
      @native = native
      @encoding = encoding
    end

    # Yields what is left, batch by batch. The records of a batch are deleted when the block has
    # returned and the next one is asked for: values are handed out at least once.
    #
    # @yieldparam values [Array<String>]
    # @return [self] or, without a block, an Enumerator
    # @raise [InvalidArgumentError] for digits that no time has
    # @raise [WrongTypeError] if a key holds something else
    # @raise [CrossSlotError] on a cluster with the global keys
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write_tracked("tenant-7", { "job" => "j-1" }, "job", deadline: 1_000_000_000)
    #   queue.gc.each { |values| break } # stays, for the next collection
    #   queue.gc.each.next # => ["j-1"]
    def each
      return enum_for unless block_given?

      while (values = next_values)
        yield values
      end
      self
    end

    # How many entries were looked at so far.
    #
    # @return [Integer]
    #
    # @example
    #   Millpond.connect("memory:").shuffle_queue("jobs").gc.scanned # => 0
    def scanned
      counts.first
    end

    # How many records were deleted so far.
    #
    # @return [Integer]
    #
    # @example
    #   Millpond.connect("memory:").shuffle_queue("jobs").gc.deleted # => 0
    def deleted
      counts.last
    end

    private

    def next_values
      ShuffleAnswers.texts(@encoding) do |place, error|
        Native.millpond_shuffle_garbage_next(@native, place, error)
      end
    end

    def counts
      scanned = FFI::MemoryPointer.new(:uint64)
      deleted = Call.number(:uint64) do |place, error|
        Native.millpond_shuffle_garbage_counts(@native, scanned, place, error)
      end
      [scanned.read_uint64, deleted]
    end
  end
end
