# frozen_string_literal: true

require "millpond/batches"
require "millpond/shuffle_results"

module Millpond
  # One consumer of a group of a queue's consumers; made by {ShuffleQueue#consumer}. Any number of threads may use
  # it at a time.
  #
  # A delivered message belongs to its consumer until it is acknowledged, and asking for the next one does not
  # acknowledge it. When a consumer is gone, any other takes over its messages with {#reclaim}, also those that no
  # caller received: after {ConnectionLostError}, {TimeoutError} and an interrupted call.
  #
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

    # Takes the next message, if there is one.
    #
    # At least once: a message that was taken is the consumer's until it is acknowledged. After {ConnectionLostError}
    # or {TimeoutError} a message may be the consumer's that it never saw.
    #
    # @param wait [Numeric, nil] how long to wait when there is no message, in seconds; without it the call returns at
    #   once; `Float::INFINITY` waits without limit
    # @return [Message, nil]
    # @raise [CancelledError] for an interrupt that `Thread.handle_interrupt` holds back, also one that came before
    #   the wait
    # @raise [InvalidArgumentError] for an empty group or consumer
    # @raise [WrongTypeError] if a key holds something else
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "image" => "a.png" })
    #   consumer = queue.consumer("workers", "worker-1")
    #   consumer.read["image"] # => "a.png"
    #   consumer.read(wait: 0.01) # => nil
    def read(wait: nil)
      read_many(1, wait: wait).first
    end

    # Takes up to `max` messages in one step: those that as many calls of {#read} would have taken.
    #
    # After an error it is as with {#read}.
    #
    # @param max [Integer] how many messages at most, 1 to 10,000
    # @param wait [Numeric, nil] how long to wait when there is no message, in seconds; without it the call returns at
    #   once; `Float::INFINITY` waits without limit
    # @return [Array<Message>]
    # @raise (see #read)
    # @raise [InvalidArgumentError] for a `max` of 0 or above 10,000
    #
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

    # The consumer's loop: batches of messages. Asking for the next batch does not acknowledge the last one, so a loop
    # that is left by an exception or by `break` leaves its group what was not done. Waiting costs the server almost
    # nothing.
    #
    # @param max [Integer] how many messages at most, 1 to 10,000
    # @param wait [Numeric, nil] how long to wait when there is no message, in seconds; without it the loop ends then;
    #   `Float::INFINITY` waits without limit
    # @yieldparam batch [Array<Message>]
    # @return [self] or, without a block, an Enumerator
    # @raise (see #read_many)
    # @raise [CancelledError] for an interrupt that `Thread.handle_interrupt` holds back
    #
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
    # @example What is left by `break` is reclaimed.
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

    # Acknowledges messages, so that the group does not get them again. Returns how many were waiting for that. The
    # entries stay in the queue, for other groups.
    #
    # Acknowledging twice is safe. Above 100,000 messages it takes several steps.
    #
    # @param messages [Message, Receipt, Enumerable<Message, Receipt>] messages or receipts
    # @return [Integer]
    # @raise [InvalidArgumentError] for more than 1,000,000 messages
    # @raise [WrongTypeError] if a key holds something else
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "n" => "1" })
    #   consumer = queue.consumer("workers", "worker-1")
    #   message = consumer.read
    #   consumer.ack(message) # => 1
    #   consumer.ack([message]) # => 0
    #   [queue.len, queue.backlog] # => [1, 0]
    def ack(messages)
      count(:millpond_shuffle_ack, messages)
    end

    # Acknowledges messages and deletes them, for all groups: what a queue with one group wants.
    #
    # It can be repeated, as {#ack}.
    #
    # @param messages [Message, Receipt, Enumerable<Message, Receipt>] messages or receipts
    # @return [Integer]
    # @raise (see #ack)
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "n" => "1" })
    #   consumer = queue.consumer("workers", "worker-1")
    #   consumer.ack_and_delete(consumer.read) # => 1
    #   queue.len # => 0
    def ack_and_delete(messages)
      count(:millpond_shuffle_ack_and_delete, messages)
    end

    # Says that messages are still being worked on, so that nobody {#reclaim reclaims} them. Returns how many are this
    # consumer's; those that are not have been taken over.
    #
    # @param messages [Message, Receipt, Enumerable<Message, Receipt>] messages or receipts
    # @return [Integer]
    # @raise (see #ack)
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "n" => "1" })
    #   consumer = queue.consumer("workers", "worker-1")
    #   message = consumer.read
    #   consumer.renew(message) # => 1
    #   queue.consumer("workers", "worker-2").reclaim(min_idle: 60, max: 1).messages # => []
    def renew(messages)
      count(:millpond_shuffle_extend, messages)
    end

    # Takes over up to `max` messages that were delivered at least `min_idle` ago and neither acknowledged nor {#renew
    # extended} since: those of consumers that are gone. After `max_deliveries` a message becomes a dead letter
    # instead.
    #
    # A consumer that is only slow may be working on a message that is taken over: `min_idle` has to be longer than
    # its work, or it has to extend what it works on.
    #
    # @param min_idle [Numeric] how long a message has been with its consumer at least, in seconds
    # @param max [Integer] how many messages at most, 1 to 10,000
    # @return [Reclaimed]
    # @raise (see #read_many)
    #
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

    def count(step, messages)
      list, count = ShuffleArguments.receipts(messages)
      Call.number(:uint64) { |out, error| Native.public_send(step, @native, list, count, out, error) }
    end
  end
end
