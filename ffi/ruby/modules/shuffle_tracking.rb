# frozen_string_literal: true

require "millpond/garbage"
require "millpond/shuffle_results"

module Millpond
  class ShuffleQueue
    # The Redis keys of the scripts `shuffle.delete_tracked`, `shuffle.cordon`, `shuffle.scan_expired`
    # and `shuffle.forget_expired`. A `shuffle.write` of a tracked message takes the first two of them
    # after three of {.keys}. Makes no call.
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

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write_tracked("tenant-7", { "job" => "j-1", "image" => "a.png" }, "job")
    #   queue.delete_tracked("j-1").nil? # => false
    def write_tracked(shard_key, fields, track_field, deadline: nil) = core

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

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write_tracked("tenant-7", { "job" => "j-1" }, "job", deadline: Time.now.to_i - 5)
    #   queue.cordon_deadline_exceeded(60) # => ["j-1"]
    #   queue.cordon_deadline_exceeded(60) # => []
    def cordon_deadline_exceeded(within) = core

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
