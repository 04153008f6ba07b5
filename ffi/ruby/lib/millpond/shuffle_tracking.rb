# frozen_string_literal: true

require "millpond/garbage"
require "millpond/shuffle_results"

module Millpond
  # Tracked messages: the queue remembers where a message is by the value of one of its fields, so
  # that it can be deleted by that.
  class ShuffleQueue
    # The Redis keys of the scripts `shuffle.delete_tracked`, `shuffle.cordon`, `shuffle.scan_expired`
    # and `shuffle.forget_expired`. A `shuffle.write` of a tracked message has the first two after
    # three of {.keys}. Makes no call.
    #
    # @param name [String] the name of a queue
    # @param track_keys [Symbol] as in {Client#shuffle_queue}
    # @return [Array<String>] as bytes
    # @raise (see .keys)
    #
    # @example
    #   Millpond::ShuffleQueue.tracking_keys("jobs", track_keys: :queue).size # => 3
    def self.tracking_keys(name, track_keys: :global)
      name = Convert.bytes("name", name)
      kind = ShuffleArguments.track_keys(track_keys)
      ShuffleResults.texts(Encoding::BINARY) do |out, error|
        Native.millpond_shuffle_tracking_keys(name, name.bytesize, kind, out, error)
      end
    end

    # Writes one message as {#write}, and remembers where it is by the value of one of its fields, so
    # that {#delete_tracked} finds it. Of two messages with the same value the later one is tracked;
    # one without that field, or with nothing in it, is written and not tracked.
    #
    # @param shard_key [String] the key of the tenant
    # @param fields (see #write)
    # @param track_field [String] the name of the field
    # @param deadline [Integer, nil] in seconds since the Unix epoch, at most 2^53 from it; without it
    #   or with 0, the server's time and the queue's `ttl`, or a day without one. From then on {#gc} collects the record.
    # @return [Receipt] where it is
    # @raise (see #write)
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write_tracked("tenant-7", { "job" => "j-1", "image" => "a.png" }, "job")
    #   queue.delete_tracked("j-1").nil? # => false
    def write_tracked(shard_key, fields, track_field, deadline: nil)
      key = Convert.bytes("shard_key", shard_key)
      list, count = ShuffleArguments.fields(fields)
      field = Convert.bytes("track_field", track_field)
      at = ShuffleArguments.deadline(deadline)
      ShuffleResults.receipt do |out, error|
        Native.millpond_shuffle_write_tracked(@native, key, key.bytesize, list, count, field, field.bytesize,
                                              at, out, error)
      end
    end

    # Writes many messages, each for its tenant, and remembers where they are, as {#write_tracked} would
    # one after the other with the same field and deadline. In steps as {#write_many}.
    #
    # @param messages (see #write_many)
    # @param track_field [String] the name of the field
    # @param deadline (see #write_tracked)
    # @return [Array<Receipt>] where they are, in their order
    # @raise (see #write)
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write_tracked_many([["a", { "job" => "j-1" }], ["b", { "job" => "j-2" }]], "job").size # => 2
    #   queue.delete_tracked("j-2").nil? # => false
    def write_tracked_many(messages, track_field, deadline: nil)
      field = Convert.bytes("track_field", track_field)
      at = ShuffleArguments.deadline(deadline)
      ShuffleArguments.messages(messages) do |list, count|
        ShuffleResults.receipts(count) do |out, error|
          Native.millpond_shuffle_write_tracked_many(@native, list, count, field, field.bytesize, at, out,
                                                     error)
        end
      end
    end

    # Deletes the message that is tracked by this value, for all groups, delivered or not; a consumer
    # that works on it is not stopped. With the global keys it is found in any queue.
    #
    # After {ConnectionLostError} or {TimeoutError} it may be done; repeated, it returns nil then.
    #
    # @param value [String]
    # @return [Receipt, nil] where it was; nil if there is none (any more)
    # @raise [TypeError] for anything but a String
    # @raise [WrongTypeError] if a key holds something else
    # @raise [CorruptError] if the record of this value names no message; it is left as it is
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   receipt = queue.write_tracked("tenant-7", { "job" => "j-1" }, "job")
    #   queue.delete_tracked("j-1") == receipt # => true
    #   queue.delete_tracked("j-1") # => nil
    def delete_tracked(value)
      value = Convert.bytes("value", value)
      deleted = FFI::MemoryPointer.new(:bool)
      receipt = ShuffleResults.receipt do |out, error|
        Native.millpond_shuffle_delete_tracked(@native, value, value.bytesize, deleted, out, error)
      end
      receipt if deleted.get(:bool, 0)
    end

    # Takes the values whose deadline passed lately out of the deadlines, in one step, so that of
    # several callers one gets each. They are garbage from then on; their messages stay until they
    # are deleted.
    #
    # After {ConnectionLostError} or {TimeoutError} values may be cordoned that no caller
    # received; {#gc} returns them again.
    #
    # @param within [Numeric] how many seconds ago at most; a part of one counts as one
    # @return [Array<String>] the values, by deadline
    # @raise [InvalidArgumentError, TypeError] for a wrong time
    # @raise [WrongTypeError] if a key holds something else
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write_tracked("tenant-7", { "job" => "j-1" }, "job", deadline: Time.now.to_i - 5)
    #   queue.cordon_deadline_exceeded(60) # => ["j-1"]
    #   queue.cordon_deadline_exceeded(60) # => []
    def cordon_deadline_exceeded(within)
      within_ms = Convert.milliseconds("within", within)
      ShuffleResults.texts(@encoding) do |out, error|
        Native.millpond_shuffle_cordon_deadline_exceeded(@native, within_ms, out, error)
      end
    end

    # Collects what is recorded of tracked messages whose deadline has passed, those that were
    # cordoned first; see {Garbage}.
    #
    # @param time_digits [Integer, nil] scan only deadlines that begin with as many of the first
    #   digits of the time, 1 to 10: with 6, those of the same 10,000 seconds. What was cordoned is
    #   scanned in any case.
    # @yieldparam values [Array<String>] a batch; its records are deleted when the block has returned
    # @return [Garbage] with a block, after the collection
    # @raise [InvalidArgumentError, TypeError] for a wrong number
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write_tracked("tenant-7", { "job" => "j-1" }, "job", deadline: 1_000_000_000)
    #   queue.gc { |values| values == ["j-1"] }.deleted # => 1
    def gc(time_digits: nil, &block)
      digits = time_digits.nil? ? Native::NOT_SET : Convert.small_size("time_digits", time_digits)
      open = ->(out, error) { Native.millpond_shuffle_gc(@native, digits, out, error) }
      garbage = Garbage.new(@encoding, open)
      block ? garbage.each(&block) : garbage
    end
  end
end
