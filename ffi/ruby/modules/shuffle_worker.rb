# frozen_string_literal: true

require "millpond/job_queue"
require "millpond/runnable"
require "millpond/shuffle_results"

module Millpond
  # core
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

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "image" => "a.png" })
    #   lost = nil
    #   queue.consumer("workers", "worker-1").worker.drain { |job| lost = job.lost? }
    #   lost # => false
    def lost? = core

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "image" => "a.png" })
    #   last = nil
    #   queue.consumer("workers", "worker-1", max_deliveries: 1).worker.drain { |job| last = job.last_attempt? }
    #   last # => true
    def last_attempt? = core

    # @example
    #   queue = Millpond.connect("memory:").shuffle_queue("jobs")
    #   queue.write("tenant-7", { "image" => "a.png" })
    #   left = 0
    #   queue.consumer("workers", "worker-1").worker(timeout: 60).drain { |job| left = job.time_left }
    #   left > 50 # => true
    def time_left = core

    # @api private
    def name
      "message #{@message.id}"
    end

    # @api private
    def left?
      false
    end
  end

  # core
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
