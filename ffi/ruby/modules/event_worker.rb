# frozen_string_literal: true

require "millpond/event_results"
require "millpond/job_queue"
require "millpond/runnable"

module Millpond
  # core
  # @example
  #   queue = Millpond.connect("memory:").events("orders")
  #   queue.publish("paid")
  #   paid = []
  #   queue.worker.drain { |job| paid << job.event.payload }
  #   paid # => ["paid"]
  class EventJob
    # @return [Event] the event, as it was received
    attr_reader :event

    # @api private
    def initialize(native, event)
      @native = native
      @event = event
    end

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   lost = nil
    #   queue.worker.drain { |job| lost = job.lost? }
    #   lost # => false
    def lost? = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.configure(max_attempts: 1)
    #   queue.publish("paid")
    #   last = nil
    #   queue.worker.drain { |job| last = job.last_attempt? }
    #   last # => true
    def last_attempt? = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   cancelled = nil
    #   queue.worker.drain { |job| cancelled = job.cancelled? }
    #   cancelled # => false
    def cancelled? = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   left = 0
    #   queue.worker(timeout: 60).drain { |job| left = job.time_left }
    #   left > 50 # => true
    def time_left = core

    # @api private
    def name
      "event #{@event.id} (attempt #{@event.attempts})"
    end

    # @api private
    def left?
      false
    end
  end

  # core
  # @example
  #   queue = Millpond.connect("memory:").events("orders")
  #   queue.publish_many(%w[7 x])
  #   drained = queue.worker.drain do |job|
  #     raise Millpond::Reject, "no number" unless job.event.payload.match?(/\A\d+\z/)
  #   end
  #   [drained.done, drained.dead] # => [1, 1]
  #   queue.list(:dead).events.map(&:err) # => ["no number"]
  class EventWorker
    include Runnable

    # @api private
    def initialize(queue, encoding, concurrency, options)
      @events = queue
      @concurrency = concurrency
      @options = options
      @queue = JobQueue.new("events") do |job, data|
        EventJob.new(job, EventResults::Contents.new(data, encoding).events.first)
      end
      @natives = []
    end

    private

    def native
      Call.handle(Native::EventsWorker) do |out, error|
        Native.millpond_events_worker_new(@events, @options, out, error)
      end
    end
  end
end
