# frozen_string_literal: true

require "millpond/shuffle_results"

module Millpond
  # Values of tracked messages whose deadline has passed, in batches. Made by {ShuffleQueue#gc}.
  #
  # Asking for the next batch deletes the records of the last one. If the caller stops, the last batch is left for
  # the next collection. The messages themselves stay in their streams.
  #
  # If an exception, an interrupt or `break` ends the loop, its batch stays, and the next loop returns it again,
  # over the same object or another: delivery is at least once. Only one thread may use it at a time.
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
    #
    # @param encoding [Encoding] of values
    # @param open [Proc] makes the library's collection: takes the out-parameters for it and the error
    def initialize(encoding, open)
      @encoding = encoding
      @open = open
      @scanned = 0
      @deleted = 0
    end

    # Yields the values batch by batch, from the start each time. The records of a batch are deleted when the
    # block has returned and the next batch is requested: values are returned at least once.
    #
    # @yieldparam values [Array<String>]
    # @return [self] or, without a block, an Enumerator
    # @raise [InvalidArgumentError] for an invalid number of digits
    # @raise [WrongTypeError] if a key holds something else
    # @raise [CrossSlotError] on a cluster with the global keys
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write_tracked("tenant-7", { "job" => "j-1" }, "job", deadline: 1_000_000_000)
    #   garbage = queue.gc
    #   garbage.each { |values| break } # stays, for the next loop
    #   garbage.to_a # => [["j-1"]]
    def each
      return enum_for unless block_given?

      # Each loop has its own collection: a used one would delete the batch that it returned last, which the
      # program may not have received.
      collection = Call.handle(Native::ShuffleGarbage, &@open)
      counted = [0, 0]
      while (values = next_values(collection, counted))
        yield values
      end
      self
    ensure
      collection&.free
    end

    # How many entries were scanned so far, by all loops over this object.
    #
    # @return [Integer]
    #
    # @example
    #   Millpond.connect("memory:").shuffle_queue("jobs").gc.scanned # => 0
    attr_reader :scanned

    # How many records were deleted so far, by all loops over this object. After an error or an interrupt more
    # records may have been deleted.
    #
    # @return [Integer]
    #
    # @example
    #   Millpond.connect("memory:").shuffle_queue("jobs").gc.deleted # => 0
    attr_reader :deleted

    private

    def next_values(collection, counted)
      Convert.keys(@encoding) do |out, error|
        Native.millpond_shuffle_garbage_next(collection, out, error)
      end
    ensure
      # Interrupts are deferred here, so that nothing is counted twice.
      Thread.handle_interrupt(Object => :never) { add_counts(collection, counted) }
    end

    # Adds what a collection has done since the last count.
    def add_counts(collection, counted)
      scanned, deleted = counts(collection)
      @scanned += scanned - counted[0]
      @deleted += deleted - counted[1]
      counted.replace([scanned, deleted])
    end

    def counts(collection)
      scanned = FFI::MemoryPointer.new(:uint64)
      deleted = Call.number(:uint64) do |out, error|
        Native.millpond_shuffle_garbage_counts(collection, scanned, out, error)
      end
      [scanned.read_uint64, deleted]
    end
  end
end
