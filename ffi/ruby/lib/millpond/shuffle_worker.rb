# frozen_string_literal: true

require "millpond/job_queue"
require "millpond/runnable"
require "millpond/shuffle_results"

module Millpond
  # A message that is being worked on; the handler of a {ShuffleWorker} gets it. A native thread extends it three
  # times a lease, so a busy handler keeps it. It belongs to its process.
  #
  # @example
  #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
  #   queue.write("tenant-7", { "image" => "a.png" })
  #   images = []
  #   queue.consumer("workers", "worker-1").worker.drain { |job| images << job.message["image"] }
  #   images # => ["a.png"]
  class ShuffleJob
    # @return [Message] the message, as it was taken
    attr_reader :message

    # @api private
    def initialize(native, message)
      @native = native
      @message = message
    end

    # Whether the lease is lost, because another consumer has the message or because none of the extensions has
    # succeeded for a whole lease: stop working. The job's end means nothing then.
    #
    # @return [Boolean]
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "image" => "a.png" })
    #   lost = nil
    #   queue.consumer("workers", "worker-1").worker.drain { |job| lost = job.lost? }
    #   lost # => false
    def lost?
      Call.number(:bool) { |out, error| Native.millpond_shuffle_job_is_lost(@native, out, error) }
    end

    # How long the handler may still work, as the worker's `timeout` says; nil for ever.
    #
    # @return [Float, nil] in seconds
    #
    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "image" => "a.png" })
    #   left = 0
    #   queue.consumer("workers", "worker-1").worker(timeout: 60).drain { |job| left = job.time_left }
    #   left > 50 # => true
    def time_left
      left_ms = Call.number(:int64) { |out, error| Native.millpond_shuffle_job_time_left_ms(@native, out, error) }
      left_ms / 1000.0 unless left_ms.negative?
    end

    # @api private
    def name
      "message #{@message.id}"
    end

    # @api private
    def left?
      false
    end
  end

  # Says how messages are worked on; made by {ShuffleConsumer#worker}. {#run} works until it is stopped, with
  # `concurrency` messages at a time, and {#drain} until nothing is left.
  #
  # A message is the worker's while it is worked on: a native thread extends it three times a lease. It takes over
  # the messages of consumers that are gone, twice a lease, and removes consumers that are gone for good. All
  # workers of a group should have the same lease.
  #
  # @example
  #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
  #   queue.write_many([["a", { "n" => "1" }], ["b", { "n" => "x" }]])
  #   worker = queue.consumer("workers", "worker-1").worker(delete: true)
  #   drained = worker.drain do |job|
  #     raise Millpond::Reject, "no number" unless job.message["n"].match?(/\A\d+\z/)
  #   end
  #   [drained.done, drained.dead] # => [1, 1]
  #   queue.dead_letters.map(&:reason) # => ["rejected: no number"]
  class ShuffleWorker
    include Runnable

    # @api private
    def initialize(consumer, encoding, concurrency, options)
      @consumer = consumer
      @concurrency = concurrency
      @options = options
      @queue = JobQueue.new("shuffle") { |job, data| ShuffleJob.new(job, ShuffleResults.message(data, encoding)) }
      @natives = []
    end

    private

    def native
      Call.handle(Native::ShuffleWorker) do |out, error|
        Native.millpond_shuffle_worker_new(@consumer, @options, out, error)
      end
    end
  end
end
