# frozen_string_literal: true

require "millpond/garbage"
require "millpond/shuffle_results"

module Millpond
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
      name = Convert.sized("name", name)
      kind = ShuffleArguments.track_keys(track_keys)
      Convert.keys(Encoding::BINARY) do |out, error|
        Native.millpond_shuffle_tracking_keys(*name, kind, out, error)
      end
    end

    # Writes one message of a tenant, and remembers where it is by the value of its field `track_field`. The
    # `deadline`, in seconds since the Unix epoch, says from when on that record may be {#gc collected}; nil (or 0) is
    # the server's time and the `ttl`, or 1 day without one. A message without that field, or with nothing in it, is
    # written and not tracked; of two messages with the same value the later one is tracked.
    #
    # After an error it is as with {#write}.
    #
    # @param shard_key [String] the tenant, whose messages all go to the same few streams
    # @param fields [Hash, Enumerable<Array(String, String)>] the message's fields and their values, in order, 1 to
    #   32,768
    # @param track_field [String] the field whose value tracks the message
    # @param deadline [Integer, nil] from when on the record may be collected, in seconds since the Unix epoch; 1 day
    #   from now by default
    # @return [Receipt]
    # @raise (see #write)
    # @raise [InvalidArgumentError] for an empty `track_field` and a deadline beyond 9,007,199,254,740,992
    # @raise [CrossSlotError] on a cluster with the global keys
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write_tracked("tenant-7", { "job" => "j-1", "image" => "a.png" }, "job")
    #   queue.delete_tracked("j-1").nil? # => false
    def write_tracked(shard_key, fields, track_field, deadline: nil)
      key = Convert.sized("shard_key", shard_key)
      fields = ShuffleArguments.fields(fields)
      field = Convert.sized("track_field", track_field)
      at = ShuffleArguments.deadline(deadline)
      ShuffleResults.receipt do |out, error|
        Native.millpond_shuffle_write_tracked(@native, *key, *fields, *field, at, out, error)
      end
    end

    # Writes many messages, each for its tenant, and remembers where they are, as {#write_tracked} would one after the
    # other with the same field and deadline. Returns where they are, in their order.
    #
    # In steps, as {#write_many}.
    #
    # @param messages [Enumerable<Array(String, Object)>] of each message the shard key and the fields
    # @param track_field [String] the field whose value tracks the message
    # @param deadline [Integer, nil] from when on the record may be collected, in seconds since the Unix epoch; 1 day
    #   from now by default
    # @return [Array<Receipt>]
    # @raise (see #write_tracked)
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write_tracked_many([["a", { "job" => "j-1" }], ["b", { "job" => "j-2" }]], "job").size # => 2
    #   queue.delete_tracked("j-2").nil? # => false
    def write_tracked_many(messages, track_field, deadline: nil)
      field = Convert.sized("track_field", track_field)
      at = ShuffleArguments.deadline(deadline)
      ShuffleArguments.messages(messages) do |list, count|
        ShuffleResults.receipts(count) do |out, error|
          Native.millpond_shuffle_write_tracked_many(@native, list, count, *field, at, out, error)
        end
      end
    end

    # Deletes the message that is tracked by this value, for all groups, taken or not. Returns where it was, or
    # nothing if there is none (any more). With the global keys it is found whatever the name of its queue.
    #
    # After {ConnectionLostError} or {TimeoutError} it may be done; done again it returns nothing then. A consumer
    # that has taken the message is not stopped.
    #
    # @param value [String] the value that a message is tracked by
    # @return [Receipt, nil]
    # @raise [WrongTypeError] if a key holds something else
    # @raise [CorruptError] if the record of this value names no message
    # @raise [CrossSlotError] on a cluster with the global keys, and then nothing has changed
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   receipt = queue.write_tracked("tenant-7", { "job" => "j-1" }, "job")
    #   queue.delete_tracked("j-1") == receipt # => true
    #   queue.delete_tracked("j-1") # => nil
    def delete_tracked(value)
      value = Convert.sized("value", value)
      deleted = FFI::MemoryPointer.new(:bool)
      receipt = ShuffleResults.receipt do |out, error|
        Native.millpond_shuffle_delete_tracked(@native, *value, deleted, out, error)
      end
      receipt if deleted.get(:bool, 0)
    end

    # Takes the values whose deadline passed not longer ago than `within` (in whole seconds) out of the deadlines, in
    # one step, so that of several callers one gets each. Returns them by deadline. They are garbage from then on;
    # their messages stay until they are deleted. The step has no limit, and the server does nothing else meanwhile: a
    # million values take seconds.
    #
    # After {ConnectionLostError} or {TimeoutError} values may be cordoned that no caller received; {#gc} returns them
    # again.
    #
    # @param within [Numeric] how long ago the deadline may have passed, in seconds
    # @return [Array<String>]
    # @raise (see #delete_tracked)
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write_tracked("tenant-7", { "job" => "j-1" }, "job", deadline: Time.now.to_i - 5)
    #   queue.cordon_deadline_exceeded(60) # => ["j-1"]
    #   queue.cordon_deadline_exceeded(60) # => []
    def cordon_deadline_exceeded(within)
      within_ms = Convert.milliseconds("within", within)
      Convert.keys(@encoding) do |out, error|
        Native.millpond_shuffle_cordon_deadline_exceeded(@native, within_ms, out, error)
      end
    end

    # Collects what is recorded of tracked messages whose deadline has passed, in batches of values, those that were
    # {#cordon_deadline_exceeded cordoned} first. See {Garbage}.
    #
    # At least once: what was returned and not deleted yet is returned by the next collection.
    #
    # @param time_digits [Integer, nil] scans only deadlines that begin with this many of the first digits of the
    #   time, 1 to 10: with 6, those of the same 10,000 seconds. What was cordoned is scanned in any case
    # @yieldparam values [Array<String>] a batch; its records are deleted when the block has returned
    # @return [Garbage] with a block, after the collection
    # @raise (see #delete_tracked)
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write_tracked("tenant-7", { "job" => "j-1" }, "job", deadline: 1_000_000_000)
    #   queue.gc { |values| values == ["j-1"] }.deleted # => 1
    def gc(time_digits: nil, &block)
      digits = time_digits.nil? ? Native::NOT_SET : Convert.small_size("time_digits", time_digits)
      open = ->(out, error) { Native.millpond_shuffle_garbage_new(@native, digits, out, error) }
      garbage = Garbage.new(@encoding, open)
      block ? garbage.each(&block) : garbage
    end
  end
end
