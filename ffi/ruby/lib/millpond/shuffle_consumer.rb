# frozen_string_literal: true

require "millpond/batches"
require "millpond/shuffle_results"

module Millpond
  # One consumer of a group of a shuffle queue's consumers; made by {ShuffleQueue#consumer}.
  #
  # A message is delivered at least once: a delivered message belongs to its consumer until it is
  # acknowledged, and asking for the next does not acknowledge it. When a consumer is killed, any
  # other takes over its messages with {#reclaim}. The same holds for messages that no caller
  # received: what interrupts a thread (Ctrl-C, Thread#raise, Thread#kill, Timeout) ends a call
  # that waits, and if it comes just when messages are delivered, they stay pending until they are
  # reclaimed. After {ConnectionLostError} and {TimeoutError} there may be such messages too.
  #
  # Any number of threads may use one consumer at a time.
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

    # Reads the next message, if there is one.
    #
    # @param wait [Numeric, nil] how many seconds to wait for one if there is none, `Float::INFINITY`
    #   waits without limit. Waiting costs the server almost nothing. An interrupt that the program
    #   holds back with `Thread.handle_interrupt` ends the wait with {CancelledError}, also one that
    #   came before it.
    # @return [Message, nil]
    # @raise [InvalidArgumentError] for an empty group or consumer, and invalid settings
    # @raise [TypeError] for a time that is no number
    # @raise [CancelledError] for an interrupt that is held back
    # @raise [WrongTypeError] if a key holds something else
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

    # Reads up to `max` messages in one step: the same ones that as many calls of {#read} would return.
    #
    # @param max [Integer] messages, 1 to 10,000
    # @param wait [Numeric, nil] as in {#read}
    # @return [Array<Message>] none if there are none
    # @raise [InvalidArgumentError, TypeError] for a wrong size
    # @raise (see #read)
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

    # The consumer's loop: batches of messages. Asking for the next batch does not acknowledge the
    # last one, so a loop that is left by an exception or by `break` leaves its group what was not
    # done.
    #
    # @param max [Integer] the most messages of a batch, 1 to 10,000
    # @param wait [Numeric, nil] without it the loop ends when there is nothing left; otherwise when
    #   nothing has come for `wait` seconds; `Float::INFINITY` waits without limit
    # @yieldparam batch [Array<Message>]
    # @return [self] or, without a block, an Enumerator
    # @raise (see #read_many)
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

    # Acknowledges messages, so that they are not delivered to the group again. They stay in the
    # queue, for other groups. Acknowledging twice is safe. Above 100,000 messages it takes several
    # steps, each atomic. A call takes up to 1,000,000 messages.
    #
    # @param messages [Message, Receipt, Enumerable<Message, Receipt>]
    # @return [Integer] how many of them were waiting for that
    # @raise [InvalidArgumentError, TypeError] for anything but a message or a receipt
    # @raise [WrongTypeError] if a key holds something else
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
    # Otherwise as {#ack}.
    #
    # @param (see #ack)
    # @return (see #ack)
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

    # Resets the idle time of messages that are still being worked on, so that no consumer reclaims
    # them.
    #
    # @param (see #ack)
    # @return [Integer] how many are this consumer's; those that are not have been taken over
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

    # Takes over messages that were delivered a while ago and neither acknowledged nor renewed
    # since: those of consumers that are gone. What was delivered `max_deliveries` times becomes a
    # dead letter instead; see {ShuffleQueue#consumer}.
    #
    # A slow consumer may still be working on a message that is taken over: the time has to be longer
    # than its work, or it has to {#renew} what it works on.
    #
    # @param min_idle [Numeric] how many seconds ago, at most 100 years
    # @param max [Integer] messages, 1 to 10,000
    # @return [Reclaimed] the messages, each with its deliveries, and how many became dead letters
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
