# frozen_string_literal: true

require "millpond/batches"
require "millpond/shuffle_results"
require "millpond/shuffle_worker"

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

    # A worker, which takes messages, keeps them while they are worked on, acknowledges them, tries again what failed,
    # and takes over the messages of consumers that are gone. See {ShuffleWorker}.
    #
    # @param concurrency [Integer] how many jobs `run` works on at a time, 1 or more
    # @param prefetch [Integer] how many more jobs `run` holds ready, so that one step takes several
    # @param timeout [Numeric, nil] how long a handler may work, in seconds
    # @param lease [Numeric, nil] how long a message is left alone by those that reclaim, in seconds; 1 minute by
    #   default
    # @param backoff [Numeric, nil] how long a message is put off that failed, in seconds; then twice as long with
    #   each delivery, each time minus a random part of up to a half, and never above the lease; 30 seconds by default
    # @param backoff_max [Numeric, nil] how long it is put off at most, in seconds; by default the lease
    # @param delete [Boolean] whether messages that are done are deleted, for all groups; by default they are only
    #   acknowledged
    # @param keep_consumers [Numeric, nil] how long a consumer of the group is kept that does nothing and holds no
    #   message, in seconds; 1 hour by default
    # @return [ShuffleWorker]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "n" => "1" })
    #   queue.consumer("workers", "worker-1").worker(lease: 60).drain { |job| job.message["n"] }.done # => 1
    def worker(concurrency: 1, prefetch: 0, timeout: nil, lease: nil, backoff: nil, backoff_max: nil, delete: false,
               keep_consumers: nil)
      options = Convert.options(Native::ShuffleWorkerOptions, concurrency: concurrency, prefetch: prefetch,
                                                              timeout: timeout, lease: lease, backoff: backoff,
                                                              backoff_max: backoff_max, delete_done: delete,
                                                              keep_consumers: keep_consumers)
      ShuffleWorker.new(@native, @encoding, concurrency, options)
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

    # {#ack} that says of each message, in their order, whether it was waiting for that: one that was not has been
    # acknowledged before, also by another consumer that reclaimed it, or is gone.
    #
    # It can be repeated, as {#ack}.
    #
    # @param messages [Message, Receipt, Enumerable<Message, Receipt>] messages or receipts
    # @return [Array<Boolean>]
    # @raise (see #ack)
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write_many([["a", { "n" => "1" }], ["b", { "n" => "2" }]])
    #   consumer = queue.consumer("workers", "worker-1")
    #   messages = consumer.read_many(2)
    #   consumer.ack(messages[0])
    #   consumer.ack_each(messages) # => [false, true]
    def ack_each(messages)
      flags(:millpond_shuffle_ack_each, messages)
    end

    # {#ack_and_delete} that says of each message, in their order, whether it was waiting for that.
    #
    # It can be repeated, as {#ack}.
    #
    # @param messages [Message, Receipt, Enumerable<Message, Receipt>] messages or receipts
    # @return [Array<Boolean>]
    # @raise (see #ack)
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "n" => "1" })
    #   consumer = queue.consumer("workers", "worker-1")
    #   consumer.ack_and_delete_each(consumer.read) # => [true]
    #   queue.len # => 0
    def ack_and_delete_each(messages)
      flags(:millpond_shuffle_ack_and_delete_each, messages)
    end

    # Gives messages back before they are done, so that a {#reclaim} with this `min_idle` takes them over after the
    # `delay`, and not only when they have been idle for that long; and this delivery does not count. Returns how many
    # were this consumer's; those that are not have been taken over.
    #
    # A read does not take what was released, only a reclaim does. One with a shorter `min_idle` may take it before
    # the `delay` is over. After {ConnectionLostError} or {TimeoutError} it may be done; done again a delivery more
    # does not count.
    #
    # @param messages [Message, Receipt, Enumerable<Message, Receipt>] messages or receipts
    # @param min_idle [Numeric] the `min_idle` of the reclaim that is to take them over, in seconds
    # @param delay [Numeric] how long until they are taken over, at most `min_idle`, in seconds
    # @return [Integer]
    # @raise (see #ack)
    # @raise [InvalidArgumentError] for a `min_idle` over 100 years, and for a `delay` over the `min_idle`: that is
    #   when they are taken over anyway
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "n" => "1" })
    #   consumer = queue.consumer("workers", "worker-1")
    #   consumer.release(consumer.read, min_idle: 60) # => 1
    #   other = queue.consumer("workers", "worker-2")
    #   other.reclaim(min_idle: 60, max: 1).messages.map(&:deliveries) # => [1]
    def release(messages, min_idle:, delay: 0)
      times = [Convert.milliseconds("min_idle", min_idle), Convert.milliseconds("delay", delay)]
      count(:millpond_shuffle_release, messages, *times)
    end

    # Gives messages up for good: makes dead letters of them at once, with this reason. Returns how many were this
    # consumer's; those that are not have been taken over, and stay. A reason begins best with a word that tells the
    # kinds apart, such as `rejected: no such image`; that of messages that were delivered too often is `exhausted:
    # max_deliveries`.
    #
    # Rejecting twice is safe. A message is deleted from its stream if no other group has joined that.
    #
    # @param messages [Message, Receipt, Enumerable<Message, Receipt>] messages or receipts
    # @param reason [String] why, at most 4 KiB
    # @return [Integer]
    # @raise (see #ack)
    # @raise [InvalidArgumentError] for a reason that is empty or above 4 KiB
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "n" => "1" })
    #   consumer = queue.consumer("workers", "worker-1")
    #   consumer.reject(consumer.read, "rejected: not an image") # => 1
    #   queue.dead_letters.map(&:reason) # => ["rejected: not an image"]
    def reject(messages, reason)
      count(:millpond_shuffle_reject, messages, *Convert.sized("reason", reason))
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
    # A program that ends in the middle of a message leaves all that it had taken. So that the others do not become
    # dead letters for one, each of these comes alone from the second time on, or when it is delivered for the last
    # time: then this returns one message, whatever `max` is, and the next call the next. Finish it before that call.
    # What was {#release released} does not count as left.
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

    def count(step, messages, *more)
      list, count = ShuffleArguments.receipts(messages)
      Call.number(:uint64) { |out, error| Native.public_send(step, @native, list, count, *more, out, error) }
    end

    def flags(step, messages)
      list, count = ShuffleArguments.receipts(messages)
      out = FFI::MemoryPointer.new(:bool, [count, 1].max)
      Call.check { |error| Native.public_send(step, @native, list, count, out, error) }
      out.read_array_of_uint8(count).map { |flag| flag == 1 }
    end
  end
end
