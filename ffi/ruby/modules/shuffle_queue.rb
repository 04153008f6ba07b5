# frozen_string_literal: true

require "millpond/shuffle_consumer"
require "millpond/shuffle_tracking"

module Millpond
  # The streams of a shuffle queue that a tenant writes to, drawn from a hash of its key: the same in
  # every language, in the order in which ties between them are broken. Makes no call.
  #
  # @param streams [Integer] how many streams the queue has, 1 to 65,536
  # @param streams_per_shard [Integer] how many of them a tenant has, at least one
  # @param key [String] the tenant's key: any bytes, at least one
  # @return [Array<Integer>] the numbers of the streams
  # @raise [InvalidArgumentError] for an empty key and for sizes that no queue can have
  # @raise [TypeError] for anything but an Integer or a String
  #
  # @example
  #   Millpond.shard(16, 4, "tuna") # => [15, 13, 2, 12]
  def self.shard(streams, streams_per_shard, key)
    streams = Convert.small_size("streams", streams)
    size = Convert.small_size("streams_per_shard", streams_per_shard)
    key = Convert.bytes("key", key)
    # A size that no queue can have is refused before anything is written there.
    numbers = FFI::MemoryPointer.new(:uint32, size.clamp(1, 65_536))
    Call.check do |error|
      Native.millpond_shuffle_shard(streams, size, key, key.bytesize, numbers, error)
    end
    numbers.read_array_of_uint32(size)
  end

  # core
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
    # The Redis keys of the scripts of a shuffle queue, in the contract's order, for use with your own
    # connections. `shuffle.reclaim`, `shuffle.reject` and the scripts of dead letters take all four,
    # the others the first three. Makes no call.
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

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "task" => "resize", "image" => "a.png" })
    #   queue.write("tenant-7", [["tag", "new"], ["tag", "large"]])
    #   queue.len # => 2
    def write(shard_key, fields) = core

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

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.consumer("workers", "worker-1").read # => nil
    def consumer(group, consumer, prefer_stream: nil, default_stream: false, max_deliveries: 20)
      names = [*Convert.sized("group", group), *Convert.sized("consumer", consumer)]
      options = Convert.options(Native::ShuffleConsumerOptions, prefer_stream: prefer_stream,
                                                                default_stream: default_stream,
                                                                max_deliveries: max_deliveries)
      native = Call.handle(Native::ShuffleConsumer) do |out, error|
        Native.millpond_shuffle_consumer_new(@native, *names, options, out, error)
      end
      ShuffleConsumer.new(native, @encoding)
    end

    # @example
    #   Millpond.connect("memory:").shuffle_queue("jobs").len # => 0
    def len = core

    # @example
    #   Millpond.connect("memory:").shuffle_queue("jobs").backlog # => 0
    def backlog = core

    # @example
    #   Millpond.connect("memory:").shuffle_queue("jobs").pending_count("workers") # => 0
    def pending_count(group) = core

    # @example
    #   Millpond.connect("memory:").shuffle_queue("jobs").stats("workers").lag # => 0
    def stats(group) = core

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

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "image" => "a.png" })
    #   consumer = queue.consumer("workers", "worker-1", max_deliveries: 1)
    #   consumer.read
    #   consumer.reclaim(min_idle: 0, max: 100)
    #   queue.delete_dead_letters(queue.dead_letters) # => 1
    def delete_dead_letters(letters) = core

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "image" => "a.png" })
    #   consumer = queue.consumer("workers", "worker-1")
    #   consumer.reject(consumer.read, "rejected")
    #   letters = queue.dead_letters
    #   queue.redrive(letters).size # => 1
    #   queue.redrive(letters) # => [nil]
    #   consumer.read["image"] # => "a.png"
    def redrive(letters)
      ids, count = ShuffleArguments.letter_ids(letters)
      ShuffleResults.maybe_receipts(count) do |out, error|
        Native.millpond_shuffle_redrive(@native, ids, count, out, error)
      end
    end

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.remove_idle_consumers(min_idle: 3_600) # => 0
    def remove_idle_consumers(min_idle:) = core

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "image" => "a.png" })
    #   queue.resize(64) # => 64
    def resize(streams) = core
  end
end
