# frozen_string_literal: true

require "millpond/event_results"
require "millpond/job_queue"
require "millpond/runnable"

module Millpond
  # An event that is being worked on; made by a `Run`, which ends it.
  #
  # A native thread extends its lease three times a lease, so a busy handler keeps it. It belongs to its process: in
  # the child of a fork `Run::end` fails with {ForkedError}.
  #
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

    # Whether the lease is lost, because another consumer has the event, or none of the extensions has succeeded for a
    # whole lease: stop working. The job's end means nothing then.
    #
    # @return [Boolean]
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   lost = nil
    #   queue.worker.drain { |job| lost = job.lost? }
    #   lost # => false
    def lost?
      Call.number(:bool) { |out, error| Native.millpond_events_job_is_lost(@native, out, error) }
    end

    # Whether somebody has {EventQueue#cancel cancelled} the event, as far as the last extension knows: stop working.
    # A handler that fails now ends the job, and the event is deleted. In the child of a fork it is false.
    #
    # @return [Boolean]
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   cancelled = nil
    #   queue.worker.drain { |job| cancelled = job.cancelled? }
    #   cancelled # => false
    def cancelled?
      Call.number(:bool) { |out, error| Native.millpond_events_job_is_cancelled(@native, out, error) }
    end

    # How long the handler may still work, as the worker's `timeout` says; nil for ever.
    #
    # @return [Float, nil]
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   left = 0
    #   queue.worker(timeout: 60).drain { |job| left = job.time_left }
    #   left > 50 # => true
    def time_left
      left_ms = Call.number(:int64) { |out, error| Native.millpond_events_job_time_left_ms(@native, out, error) }
      left_ms / 1000.0 unless left_ms.negative?
    end

    # @api private
    def name
      "event #{@event.id}"
    end

    # @api private
    def left?
      false
    end
  end

  # Says how events are worked on; made by {EventQueue#worker}. {#run} works until it is stopped, with `concurrency`
  # events at a time, and {#drain} until nothing is ready.
  #
  # An event is the worker's while it is worked on: a native thread extends its lease three times a lease. How long
  # that is, how often an event is tried and what it is put off by says the queue's {EventConfig}.
  #
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
