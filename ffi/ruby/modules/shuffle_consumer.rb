# frozen_string_literal: true

require "millpond/batches"
require "millpond/shuffle_results"
require "millpond/shuffle_worker"

module Millpond
  # core
  # @example
  #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
  #   queue.write_many([["a", { "n" => "1" }], ["b", { "n" => "2" }], ["c", { "n" => "3" }]])
  #   consumer = queue.consumer("workers", "worker-1")
  #   consumer.ack(consumer.read_many(2)) # => 2
  #   lost = consumer.read # and then the consumer dies
  #   messages, dead = queue.consumer("workers", "worker-2").reclaim(min_idle: 0, max: 100)
  #   messages.map { |message| [message.id == lost.id, message.deliveries] } # => [[true, 2]]
  class ShuffleConsumer
    # @api private
    def initialize(native, encoding)
      @native = native
      @encoding = encoding
    end

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "image" => "a.png" })
    #   consumer = queue.consumer("workers", "worker-1")
    #   consumer.read["image"] # => "a.png"
    #   consumer.read(wait: 0.01) # => nil
    def read(wait: nil)
      read_many(1, wait: wait).first
    end

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write_many([["a", { "n" => "1" }], ["b", { "n" => "2" }]])
    #   queue.consumer("workers", "worker-1").read_many(10).size # => 2
    def read_many(max, wait: nil)
      size = Convert.size("max", max)
      wait_ms = Batches.wait_ms(wait)
      ShuffleResults.messages(@encoding) do |out, error|
        Native.millpond_shuffle_read(@native, size, wait_ms, out, error)
      end
    end

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write_many([["a", { "n" => "1" }], ["b", { "n" => "2" }], ["c", { "n" => "3" }]])
    #   consumer = queue.consumer("workers", "worker-1")
    #   consumer.messages(max: 100) do |batch|
    #     batch.each { |message| message["n"] }
    #     consumer.ack_and_delete(batch)
    #   end
    #   queue.len # => 0
    #
    # @example A batch left by `break` can be reclaimed.
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "n" => "1" })
    #   consumer = queue.consumer("workers", "worker-1")
    #   consumer.messages { |batch| break }
    #   consumer.messages.to_a # => []
    #   consumer.reclaim(min_idle: 0, max: 100).messages.map { |message| message["n"] } # => ["1"]
    def messages(max: 100, wait: nil)
      size = Convert.size("max", max)
      wait_ms = Batches.wait_ms(wait)
      return enum_for(:messages, max: max, wait: wait) unless block_given?

      messages = Call.handle(Native::ShuffleMessages) do |out, error|
        Native.millpond_shuffle_messages_new(@native, size, wait_ms, out, error)
      end
      while (batch = next_batch(messages))
        yield batch
      end
      self
    ensure
      messages&.free
    end

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "n" => "1" })
    #   queue.consumer("workers", "worker-1").worker(lease: 60).drain { |job| job.message["n"] }.done # => 1
    def worker(concurrency: 1, prefetch: 0, timeout: nil, budget: nil, lease: nil, backoff: nil, backoff_max: nil,
               delete: false, keep_consumers: nil)
      options = Convert.options(Native::ShuffleWorkerOptions, concurrency: concurrency, prefetch: prefetch,
                                                              timeout: timeout, budget: budget, lease: lease, backoff: backoff,
                                                              backoff_max: backoff_max, delete_done: delete,
                                                              keep_consumers: keep_consumers)
      ShuffleWorker.new(@native, @encoding, concurrency, options)
    end

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "n" => "1" })
    #   consumer = queue.consumer("workers", "worker-1")
    #   message = consumer.read
    #   consumer.ack(message) # => 1
    #   consumer.ack([message]) # => 0
    #   [queue.len, queue.backlog] # => [1, 0]
    def ack(messages) = core

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "n" => "1" })
    #   consumer = queue.consumer("workers", "worker-1")
    #   consumer.ack_and_delete(consumer.read) # => 1
    #   queue.len # => 0
    def ack_and_delete(messages) = core

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write_many([["a", { "n" => "1" }], ["b", { "n" => "2" }]])
    #   consumer = queue.consumer("workers", "worker-1")
    #   messages = consumer.read_many(2)
    #   consumer.ack(messages[0])
    #   consumer.ack_each(messages) # => [false, true]
    def ack_each(messages) = core

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "n" => "1" })
    #   consumer = queue.consumer("workers", "worker-1")
    #   consumer.ack_and_delete_each(consumer.read) # => [true]
    #   queue.len # => 0
    def ack_and_delete_each(messages) = core

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "n" => "1" })
    #   consumer = queue.consumer("workers", "worker-1")
    #   consumer.release(consumer.read, min_idle: 60) # => 1
    #   other = queue.consumer("workers", "worker-2")
    #   other.reclaim(min_idle: 60, max: 1).messages.map(&:deliveries) # => [1]
    def release(messages, min_idle:, delay: 0) = core

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "n" => "1" })
    #   consumer = queue.consumer("workers", "worker-1")
    #   consumer.reject(consumer.read, "rejected: not an image") # => 1
    #   queue.dead_letters.map(&:reason) # => ["rejected: not an image"]
    def reject(messages, reason) = core

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "n" => "1" })
    #   consumer = queue.consumer("workers", "worker-1")
    #   message = consumer.read
    #   consumer.renew(message) # => 1
    #   queue.consumer("workers", "worker-2").reclaim(min_idle: 60, max: 1).messages # => []
    def renew(messages) = core

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "n" => "1" })
    #   queue.consumer("workers", "worker-1").read # and then the consumer dies
    #   careful = queue.consumer("workers", "worker-2", max_deliveries: 2)
    #   careful.reclaim(min_idle: 0, max: 100).messages.size # => 1
    #   careful.reclaim(min_idle: 0, max: 100).dead # => 1
    def reclaim(min_idle:, max:)
      idle_ms = Convert.milliseconds("min_idle", min_idle)
      size = Convert.size("max", max)
      dead = FFI::MemoryPointer.new(:uint64)
      messages = ShuffleResults.messages(@encoding) do |out, error|
        Native.millpond_shuffle_reclaim(@native, idle_ms, size, out, dead, error)
      end
      Reclaimed.new(messages, dead.read_uint64).freeze
    end

    private

    def next_batch(messages)
      ShuffleResults.messages(@encoding) do |out, error|
        Native.millpond_shuffle_messages_next(messages, out, error)
      end
    end
  end
end
