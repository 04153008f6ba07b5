# frozen_string_literal: true

require "millpond/shuffle_consumer"
require "millpond/shuffle_tracking"

module Millpond
  # The streams of a tenant of a shuffle queue, drawn from a hash of its key: the same in every
  # language, in the order in which ties between them are broken. Makes no call.
  #
  # @param streams [Integer] how many streams the queue has, 1 to 65,536
  # @param streams_per_shard [Integer] how many of them a tenant has, at least one
  # @param key [String] the tenant's key, any bytes but none
  # @return [Array<Integer>] the numbers of the streams
  # @raise [InvalidArgumentError] for an empty key and for sizes that no queue has
  # @raise [TypeError] for anything but an Integer or a String
  #
  # @example
  #   Millpond.shard(16, 4, "tuna") # => [15, 13, 2, 12]
  def self.shard(streams, streams_per_shard, key)
    streams = Convert.small_size("streams", streams)
    size = Convert.small_size("streams_per_shard", streams_per_shard)
    key = Convert.bytes("key", key)
    # More than any queue has is refused before something is written there.
    numbers = FFI::MemoryPointer.new(:uint32, size.clamp(1, 65_536))
    Call.check do |error|
      Native.millpond_shuffle_shard(streams, size, key, key.bytesize, numbers, error)
    end
    numbers.read_array_of_uint32(size)
  end

  # A queue that many tenants share, and one tenant's burst delays only itself; made by {Client#shuffle_queue}.
  #
  # It is a number of streams, and each tenant writes to a few of them only, its shard: always to the one of these
  # with the least to do. Consumers read from all streams in turn. A tenant that writes a thousand times more than
  # the others fills its own streams, and the other tenants have others.
  #
  # Names, keys, fields and values are Strings: their bytes are what counts. Calls raise {WrongTypeError} if a key
  # of the queue holds something else, and then nothing has changed; and {CrossSlotError} on a cluster if the name
  # holds no `{tag}` or, for tracked messages, if their records are in the global keys.
  #
  # @example
  #   queue = Millpond.connect("memory:").shuffle_queue("jobs", streams: 64, streams_per_shard: 4)
  #   receipt = queue.write("tenant-7", { "task" => "resize", "image" => "a.png" })
  #   Millpond.shard(64, 4, "tenant-7").include?(receipt.stream) # => true
  #   consumer = queue.consumer("workers", "worker-1")
  #   message = consumer.read
  #   message["image"] # => "a.png"
  #   consumer.ack_and_delete(message) # => 1
  #   queue.backlog # => 0
  class ShuffleQueue
    # The Redis keys of the scripts of a shuffle queue, in the contract's order: for connections of
    # your own. `shuffle.reclaim`, `shuffle.reject` and those of dead letters take all four, the others
    # the first three. Makes no call.
    #
    # @param name [String] the name of a queue
    # @return [Array<String>] the name itself and the keys of the meta hash, the notifications and
    #   the dead letters, as bytes
    # @raise [InvalidArgumentError] for an empty name or more than 64 KiB
    #
    # @example
    #   Millpond::ShuffleQueue.keys("jobs") # => ["jobs", "jobs:meta", "jobs:notifications", "jobs:dead"]
    def self.keys(name)
      name = Convert.sized("name", name)
      Convert.keys(Encoding::BINARY) { |out, error| Native.millpond_shuffle_keys(*name, out, error) }
    end

    # @return [String] the name
    attr_reader :name

    # @api private
    def initialize(client, name, options)
      @encoding = client.encoding
      @name = Convert.bytes("name", name)
      @native = Call.handle(Native::ShuffleQueue) do |out, error|
        Native.millpond_shuffle_queue_new(client.native, @name, @name.bytesize, options, out, error)
      end
    end

    # Writes one message of a tenant, to the stream of its shard that has the least to do. Returns where it is.
    #
    # After {ConnectionLostError} or {TimeoutError} the message may or may not be written; written again it may be
    # there twice.
    #
    # @param shard_key [String] the tenant, whose messages all go to the same few streams
    # @param fields [Hash, Enumerable<Array(String, String)>] the message's fields and their values, 1 to 32,768, each
    #   at most 64 MiB; pairs may have a field several times. Their order is kept
    # @return [Receipt]
    # @raise [InvalidArgumentError] for an empty shard key, a message without fields or with more than 32,768 or
    #   longer than 64 MiB each, or settings that no queue can have, before anything is sent, and for a queue that has
    #   another number of `streams` than this handle was given
    # @raise [WrongTypeError] if a key holds something else, and then nothing has changed
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "task" => "resize", "image" => "a.png" })
    #   queue.write("tenant-7", [["tag", "new"], ["tag", "large"]])
    #   queue.len # => 2
    def write(shard_key, fields)
      key = Convert.sized("shard_key", shard_key)
      fields = ShuffleArguments.fields(fields)
      ShuffleResults.receipt { |out, error| Native.millpond_shuffle_write(@native, *key, *fields, out, error) }
    end

    # Writes many messages, each for its tenant, as {#write} would one after the other. Returns where they are, in
    # their order.
    #
    # One atomic step for up to 10,000 messages, 16 MiB and 262,144 strings, several for more: after an error the
    # first of these may be done.
    #
    # @param messages [Enumerable<Array(String, Object)>] of each message the shard key and the fields
    # @return [Array<Receipt>]
    # @raise (see #write)
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write_many([["a", { "n" => "1" }], ["b", { "n" => "2" }]]).size # => 2
    def write_many(messages)
      ShuffleArguments.messages(messages) do |list, count|
        ShuffleResults.receipts(count) do |out, error|
          Native.millpond_shuffle_write_many(@native, list, count, out, error)
        end
      end
    end

    # A consumer of a group. Each message goes to one consumer of each group; a group begins with what the queue holds
    # when it first reads.
    #
    # A program that restarts does best with the same name again, such as its host's: the server keeps the names of
    # all that ever read, until {#remove_idle_consumers they are removed}, which workers do.
    #
    # @param group [String] the group of consumers
    # @param consumer [String] the consumer's name, its own in the group
    # @param prefer_stream [Integer, nil] takes from this stream first, as much as it has; for a consumer to which one
    #   tenant's messages are cheaper together
    # @param default_stream [Boolean] takes also from the stream at the queue's own name, in turn with the others: a
    #   plain stream becomes a sharded queue while its writers move. The group there has the queue's name
    # @param max_deliveries [Integer] the number of deliveries after which a {ShuffleConsumer#reclaim reclaimed}
    #   message becomes a dead letter instead: a message that kills its consumers must not kill all of them. 0, the
    #   default, for never
    # @return [ShuffleConsumer]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.consumer("workers", "worker-1").read # => nil
    def consumer(group, consumer, prefer_stream: nil, default_stream: false, max_deliveries: 0)
      names = [*Convert.sized("group", group), *Convert.sized("consumer", consumer)]
      options = Convert.options(Native::ShuffleConsumerOptions, prefer_stream: prefer_stream,
                                                                default_stream: default_stream,
                                                                max_deliveries: max_deliveries)
      native = Call.handle(Native::ShuffleConsumer) do |out, error|
        Native.millpond_shuffle_consumer_new(@native, *names, options, out, error)
      end
      ShuffleConsumer.new(native, @encoding)
    end

    # How many entries the streams hold, finished ones that nobody deleted included.
    #
    # @return [Integer]
    # @raise [WrongTypeError] if a key holds something else
    #
    # @example
    #   Millpond.connect("memory:").shuffle_queue("jobs").len # => 0
    def len
      Call.number(:uint64) { |out, error| Native.millpond_shuffle_len(@native, out, error) }
    end

    # How many messages some group still has to get or to acknowledge.
    #
    # @return [Integer]
    # @raise (see #len)
    #
    # @example
    #   Millpond.connect("memory:").shuffle_queue("jobs").backlog # => 0
    def backlog
      Call.number(:uint64) { |out, error| Native.millpond_shuffle_backlog(@native, out, error) }
    end

    # How many messages were delivered to a group and not acknowledged.
    #
    # @param group [String] the group of consumers
    # @return [Integer]
    # @raise (see #len)
    # @raise [InvalidArgumentError] for an empty group
    #
    # @example
    #   Millpond.connect("memory:").shuffle_queue("jobs").pending_count("workers") # => 0
    def pending_count(group)
      group = Convert.sized("group", group)
      Call.number(:uint64) { |out, error| Native.millpond_shuffle_pending_count(@native, *group, out, error) }
    end

    # What each stream holds for a group.
    #
    # @param group [String] the group of consumers
    # @return [ShuffleStats]
    # @raise (see #pending_count)
    #
    # @example
    #   Millpond.connect("memory:").shuffle_queue("jobs").stats("workers").lag # => 0
    def stats(group)
      group = Convert.sized("group", group)
      ShuffleResults.stats { |out, error| Native.millpond_shuffle_stats_read(@native, *group, out, error) }
    end

    # Up to `max` dead letters, the oldest first: messages that were delivered too often, see
    # {ShuffleConsumer#reclaim}, or {ShuffleConsumer#reject rejected}. They lie in the stream `<queue>:dead`, and stay
    # until they are {#delete_dead_letters deleted} or {#requeue_dead_letters requeued}, or their `dead_ttl` is over.
    #
    # @param max [Integer] how many dead letters at most
    # @param after [DeadLetter, String, nil] the dead letter that they come after, or its id; it need not be there any
    #   more
    # @return [Array<DeadLetter>]
    # @raise (see #len)
    # @raise [InvalidArgumentError] for a `max` of 0 or above 10,000
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "image" => "a.png" })
    #   consumer = queue.consumer("workers", "worker-1", max_deliveries: 1)
    #   consumer.read
    #   consumer.reclaim(min_idle: 0, max: 100).dead # => 1
    #   queue.dead_letters.map { |letter| letter.message["image"] } # => ["a.png"]
    def dead_letters(max: 100, after: nil)
      size = Convert.size("max", max)
      id, = ShuffleArguments.letter_ids([after]) if after
      ShuffleResults.dead_letters(@encoding) do |out, error|
        next Native.millpond_shuffle_dead_letters_read(@native, size, out, error) unless id

        Native.millpond_shuffle_dead_letters_after(@native, size, id, out, error)
      end
    end

    # Deletes dead letters. Returns how many of these there were.
    #
    # Deleting twice is safe. Above 100,000 letters it takes several steps.
    #
    # @param letters [DeadLetter, String, Enumerable<DeadLetter, String>] dead letters or their ids
    # @return [Integer]
    # @raise (see #len)
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "image" => "a.png" })
    #   consumer = queue.consumer("workers", "worker-1", max_deliveries: 1)
    #   consumer.read
    #   consumer.reclaim(min_idle: 0, max: 100)
    #   queue.delete_dead_letters(queue.dead_letters) # => 1
    def delete_dead_letters(letters)
      ids = ShuffleArguments.letter_ids(letters)
      Call.number(:uint64) { |out, error| Native.millpond_shuffle_delete_dead_letters(@native, *ids, out, error) }
    end

    # Puts dead letters back into the queue, each as a new message of the stream that it came from, and removes them
    # from the dead letters. Returns where each is now, in their order, or nothing for a letter that does not exist
    # (any more). Every group gets the message, also one that was done with it.
    #
    # A letter is put back once, also when it is requeued twice. Above 10,000 letters it takes several steps: after an
    # error the first of these may be done. The new message is not tracked.
    #
    # @param letters [DeadLetter, String, Enumerable<DeadLetter, String>] dead letters or their ids
    # @return [Array<Receipt, nil>]
    # @raise (see #len)
    # @raise [InvalidArgumentError] for settings that no queue can have, and for more than 1,000,000 letters
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "image" => "a.png" })
    #   consumer = queue.consumer("workers", "worker-1")
    #   consumer.reject(consumer.read, "rejected")
    #   letters = queue.dead_letters
    #   queue.requeue_dead_letters(letters).size # => 1
    #   queue.requeue_dead_letters(letters) # => [nil]
    #   consumer.read["image"] # => "a.png"
    def requeue_dead_letters(letters)
      ids, count = ShuffleArguments.letter_ids(letters)
      ShuffleResults.maybe_receipts(count) do |out, error|
        Native.millpond_shuffle_requeue_dead_letters(@native, ids, count, out, error)
      end
    end

    # Removes the consumers of all groups that hold no message and have been idle for at least `min_idle` in all
    # streams: the names of programs that are gone, which the server keeps otherwise. Returns how many. One that comes
    # again is a consumer again, so nothing is lost with it. The embedded engine keeps no such names, and removes
    # none.
    #
    # Removing twice is safe. It is one step, and the server does nothing else meanwhile. A consumer that waits for a
    # message for so long may be removed as well, until it reads again.
    #
    # @param min_idle [Numeric] how long a consumer has been idle at least, in seconds
    # @return [Integer]
    # @raise (see #len)
    # @raise [InvalidArgumentError] for a `min_idle` over 100 years
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.remove_idle_consumers(min_idle: 3_600) # => 0
    def remove_idle_consumers(min_idle:)
      idle_ms = Convert.milliseconds("min_idle", min_idle)
      Call.number(:uint64) { |out, error| Native.millpond_shuffle_remove_idle_consumers(@native, idle_ms, out, error) }
    end

    # Gives the queue another number of streams: more at once, fewer as soon as those beyond have nothing left to
    # deliver or to acknowledge. Until then writers spread over the new number already and readers still take from
    # all; a later write or resize takes the others away. Returns how many streams the queue has now. A queue that
    # nobody has written to is made with this number.
    #
    # Handles with another number of `streams` are refused from then on.
    #
    # @param streams [Integer] how many streams, 1 to 65,536
    # @return [Integer]
    # @raise [InvalidArgumentError] for no stream or more than 65,536
    # @raise [WrongTypeError] if a key holds something else, and then nothing has changed
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "image" => "a.png" })
    #   queue.resize(64) # => 64
    def resize(streams)
      size = Convert.small_size("streams", streams)
      Call.number(:uint32) { |out, error| Native.millpond_shuffle_resize(@native, size, out, error) }
    end
  end
end
