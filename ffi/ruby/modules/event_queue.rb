# frozen_string_literal: true

require "millpond/batches"
require "millpond/event_results"
require "millpond/event_worker"

module Millpond
  # core
  # @example
  #   queue = Millpond.connect("memory:").events("orders")
  #   queue.publish("paid", key: "customer-12")
  #   reminder = queue.publish("remind", key: "customer-12", delay: 3600)
  #   queue.receive(10).map(&:payload) # => ["paid"]
  #   queue.cancel(reminder) # => [:removed]
  class EventQueue
    # @return [String] the name
    attr_reader :name

    # @api private
    def initialize(client, name)
      @encoding = client.encoding
      @name = Convert.bytes("name", name)
      @native = Call.handle(Native::EventsQueue) do |out, error|
        Native.millpond_events_queue_new(client.native, @name, @name.bytesize, out, error)
      end
    end

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   published = queue.publish("remind", delay: 60, dedup_id: "order-7", headers: { "tenant" => "7" })
    #   published.status # => :created
    #   queue.publish("remind", delay: 60, dedup_id: "order-7").id == published.id # => true
    def publish(payload, key: nil, at_ms: nil, delay: nil, ttl: nil, dedup_id: nil, dedup_window: nil, if_exists: nil,
                headers: nil)
      event = EventResults.new_event(payload: payload, key: key, at_ms: at_ms, delay: delay, ttl: ttl,
                                     dedup_id: dedup_id, dedup_window: dedup_window, if_exists: if_exists,
                                     headers: headers)
      event = Convert.options(Native::NewEvent, event)
      of { |out, error| Native.millpond_events_publish(@native, event, out, error) }.published.first
    end

    # @example
    #   redis = Redis.new
    #   queue = Millpond.connect(redis.id).events("orders")
    #   command = queue.publish_call("paid", key: "customer-12")
    #   _, id = redis.multi do |transaction|
    #     transaction.set("order:7", "paid")
    #     transaction.call(*command)
    #   end
    #   queue.receive.first.id == id # => true
    def publish_call(payload, key: nil, at_ms: nil, delay: nil, ttl: nil, dedup_id: nil, dedup_window: nil,
                     if_exists: nil, headers: nil)
      event = EventResults.new_event(payload: payload, key: key, at_ms: at_ms, delay: delay, ttl: ttl,
                                     dedup_id: dedup_id, dedup_window: dedup_window, if_exists: if_exists,
                                     headers: headers)
      event = Convert.options(Native::NewEvent, event)
      Convert.keys(Encoding::BINARY) { |out, error| Native.millpond_events_publish_call(@native, event, out, error) }
    end

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish_many(["a", { payload: "b", delay: 60 }]).map(&:status) # => [:created, :created]
    def publish_many(events) = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.receive.each { |event| queue.ack(event) }
    #   queue.stats.events # => 0
    def receive(max = 1) = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish_many(%w[a b c])
    #   queue.deliveries(max: 2).map { |events| queue.ack_many(events).size } # => [2, 1]
    def deliveries(max: 1, wait: nil, lease: nil, key_range: nil)
      return enum_for(:deliveries, max: max, wait: wait, lease: lease, key_range: key_range) unless block_given?

      range = key_range ? Convert.sized("key_range", key_range) : [nil, 0]
      settings = [TaskArguments.milliseconds("lease", lease), Convert.size("max", max), Batches.wait_ms(wait), *range]
      loop = Call.handle(Native::EventsDeliveries) do |out, error|
        Native.millpond_events_deliveries_new(@native, *settings, out, error)
      end
      while (batch = of { |out, error| Native.millpond_events_deliveries_next(loop, out, error) })
        yield batch.events
      end
      self
    ensure
      loop&.free
    end

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.worker(concurrency: 4).drain { |job| job.event.payload }.done # => 1
    def worker(concurrency: 1, prefetch: 0, timeout: nil, budget: nil, lease: nil, key_range: nil)
      options = Convert.options(Native::EventsWorkerOptions, concurrency: concurrency, prefetch: prefetch,
                                                             timeout: timeout, budget: budget, lease: lease,
                                                             key_range: key_range)
      EventWorker.new(@native, @encoding, concurrency, options)
    end

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.ack(queue.receive.first) # => nil
    def ack(delivery) = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.nack(queue.receive.first, "no paper", after: 0)
    #   queue.receive.map { |event| [event.attempts, event.err] } # => [[2, "no paper"]]
    def nack(delivery, err = "", after: nil) = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.release(queue.receive.first)
    #   queue.receive.map(&:attempts) # => [1]
    def release(delivery, after: nil) = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.dead_letter(queue.receive.first, "no such customer")
    #   queue.list(:dead).events.map { |event| [event.reason, event.err] } # => [[:rejected, "no such customer"]]
    def dead_letter(delivery, reason = "") = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish_many(%w[a b])
    #   events = queue.receive(2)
    #   queue.ack_many(events) # => [:ended, :ended]
    #   queue.ack_many(events) # => [:gone, :gone]
    def ack_many(deliveries) = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.ack_with(queue.receive.first, ["ship"])
    #   queue.receive.map(&:payload) # => ["ship"]
    def ack_with(delivery, events) = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.renew(queue.receive, lease: 60) # => [:held]
    def renew(deliveries, lease: nil) = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   reminder = queue.publish("remind", delay: 60)
    #   queue.cancel([reminder, reminder.id.tr("0-9", "0")]) # => [:removed, :gone]
    def cancel(ids, also_running: false, force: false) = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   reminder = queue.publish("remind", delay: 60)
    #   queue.reschedule(reminder, delay: 0) # => [:rescheduled]
    #   queue.receive.map(&:payload) # => ["remind"]
    def reschedule(ids, delay: nil, at_ms: nil)
      raise Convert.invalid("delay or at_ms has to be given, and not both") unless delay.nil? ^ at_ms.nil?

      list, count = EventResults.ids(ids)
      time = delay ? Convert.milliseconds("delay", delay) : Convert.size("at_ms", Convert.in_milliseconds(at_ms))
      EventResults.each(count, %i[gone rescheduled too_late]) do |out, error|
        next Native.millpond_events_reschedule(@native, list, count, time, out, error) if delay

        Native.millpond_events_reschedule_at_ms(@native, list, count, time, out, error)
      end
    end

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   reminder = queue.publish("remind", delay: 60)
    #   queue.fetch(reminder).map(&:state) # => [:scheduled]
    def fetch(ids)
      list, count, ids = EventResults.ids(ids)
      found = of { |out, error| Native.millpond_events_fetch(@native, list, count, out, error) }.events
      found = found.to_h { |event| [event.id, event] }
      ids.map { |id| found[id.dup.force_encoding(Encoding::UTF_8)] }
    end

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish_many(%w[a b c])
    #   page = queue.list(:ready, limit: 2)
    #   page.events.map(&:payload) # => ["a", "b"]
    #   queue.list(:ready, after: page.next).events.map(&:payload) # => ["c"]
    def list(state, key: nil, since_us: nil, before_us: nil, after: nil, limit: nil)
      state = EventResults.number("state", state, EventResults::STATES)
      query = Convert.options(Native::EventQuery, key: key, since_us: since_us, before_us: before_us, limit: limit)
      unless after.nil?
        Convert.one_of("after", after, EventPosition, Event)
        place = [Convert.size("after.state_at_us", after.state_at_us), Convert.bytes("after.id", after.id)]
        query[:after], = TaskArguments.list(Native::EventPosition, [place])
      end
      page = of { |out, error| Native.millpond_events_list(@native, state, query, out, error) }
      EventPage.new(page.events, page.next).freeze
    end

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.dead_letter(dead = queue.receive.first, "no such customer")
    #   queue.redrive(dead) # => [:redriven]
    def redrive(ids) = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.dead_letter(queue.receive.first)
    #   queue.redrive_all(reason: :rejected) # => 1
    def redrive_all(reason: nil, since_us: nil, before_us: nil, max: nil, per_second: nil)
      reason &&= EventResults.number("reason", reason, EventResults::REASONS)
      filter = Convert.options(Native::EventRedriveFilter, reason: reason, since_us: since_us, before_us: before_us,
                                                           max: max, per_second: per_second)
      Call.number(:uint64) { |out, error| Native.millpond_events_redrive_all(@native, filter, out, error) }
    end

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("remind", delay: 60)
    #   queue.purge(:scheduled) # => 1
    def purge(state, key: nil, before_us: nil)
      state = EventResults.number("state", state, EventResults::STATES)
      filter = Convert.options(Native::EventPurgeFilter, key: key, before_us: before_us)
      Call.number(:uint64) { |out, error| Native.millpond_events_purge(@native, state, filter, out, error) }
    end

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.reshard(4)
    #   queue.config.partitions # => 4
    def reshard(partitions) = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("remind", delay: 60)
    #   nil until queue.reshard_step(2).zero?
    #   queue.config.partitions # => 2
    def reshard_step(partitions) = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.delete
    #   queue.stats.events # => 0
    def delete = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("remind", delay: 60)
    #   queue.stats.scheduled # => 1
    def stats = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.configure(partitions: 4, max_attempts: 5)
    #   queue.configure(rate: 10)
    #   queue.config.max_attempts # => 5
    def configure(partitions: nil, lease: nil, max_attempts: nil, max_crashes: nil, backoff_min: nil, backoff_max: nil,
                  events_max: nil, dedup_ids_max: nil, paused: nil, concurrency: nil, rate: nil, burst: nil,
                  retention: nil)
      paused = paused ? 1 : 0 unless paused.nil?
      change = Convert.options(Native::EventConfigChange,
                               partitions: partitions, lease: lease, max_attempts: max_attempts,
                               max_crashes: max_crashes, backoff_min: backoff_min, backoff_max: backoff_max,
                               events_max: events_max, dedup_ids_max: dedup_ids_max, paused: paused,
                               concurrency: concurrency, rate: rate, burst: burst, retention: retention)
      done { |error| Native.millpond_events_configure(@native, change, error) }
    end

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.config # => nil
    #   queue.configure(lease: 60)
    #   queue.config.lease # => 60.0
    def config = core

    # @example
    #   queue = Millpond.connect("memory:").events("jobs")
    #   queue.put_schedule("nightly", cron: "30 3 * * *", zone: "Europe/Berlin", payload: "clean up") # => :created
    #   queue.put_schedule("look", every: 600, missed: :expire) # => :created
    def put_schedule(id, cron: nil, zone: nil, every: nil, anchor_ms: nil, payload: nil, headers: nil, ttl: nil,
                     missed: nil, grace: nil, overlap: nil, from_ms: nil, until_ms: nil, revision: nil)
      schedule = EventResults.schedule(id: id, cron: cron, zone: zone, every: every, anchor_ms: anchor_ms,
                                       payload: payload, headers: headers, ttl: ttl, missed: missed, grace: grace,
                                       overlap: overlap, from_ms: from_ms, until_ms: until_ms, revision: revision)
      schedule = Convert.options(Native::Schedule, schedule.compact)
      EventResults.each(1, EventResults::PUT) do |out, error|
        Native.millpond_events_put_schedule(@native, schedule, out, error)
      end.first
    end

    # @example
    #   queue = Millpond.connect("memory:").events("jobs")
    #   queue.sync_schedules("billing", 1, [{ id: "a", every: 60 }, { id: "b", every: 60 }]).created # => 2
    #   queue.sync_schedules("billing", 2, [{ id: "b", every: 60 }]).removed # => 1
    def sync_schedules(owner, revision, schedules) = core

    # @example
    #   queue = Millpond.connect("memory:").events("jobs")
    #   queue.put_schedule("nightly", cron: "@daily")
    #   queue.remove_schedule("nightly") # => true
    #   queue.remove_schedule("nightly") # => false
    def remove_schedule(id) = core

    # @example
    #   queue = Millpond.connect("memory:").events("jobs")
    #   queue.put_schedule("nightly", cron: "30 3 * * *")
    #   queue.get_schedule("nightly").zone # => "UTC"
    #   queue.get_schedule("daily") # => nil
    def get_schedule(id) = core

    # @example
    #   queue = Millpond.connect("memory:").events("jobs")
    #   queue.put_schedule("look", every: 600)
    #   queue.list_schedules.map(&:every) # => [600.0]
    def list_schedules = core

    # @example
    #   queue = Millpond.connect("memory:").events("jobs")
    #   queue.put_schedule("look", every: 600)
    #   queue.pause_schedule("look") # => true
    #   queue.get_schedule("look").paused # => true
    def pause_schedule(id) = core

    # @example
    #   queue = Millpond.connect("memory:").events("jobs")
    #   queue.put_schedule("look", every: 600)
    #   queue.pause_schedule("look")
    #   queue.resume_schedule("look") # => true
    def resume_schedule(id) = core

    # @example
    #   queue = Millpond.connect("memory:").events("jobs")
    #   queue.put_schedule("nightly", cron: "@daily", payload: "clean up")
    #   queue.trigger_schedule("nightly").status # => :created
    #   queue.receive.map(&:payload) # => ["clean up"]
    def trigger_schedule(id) = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.pause
    #   queue.receive # => []
    def pause = core

    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.pause
    #   queue.resume
    #   queue.config.paused # => false
    def resume = core

    private

    def of(&call)
      EventResults.of(@encoding, &call)
    end

    def done(&call)
      Call.check(&call)
      nil
    end
  end
end
