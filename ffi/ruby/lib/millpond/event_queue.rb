# frozen_string_literal: true

require "millpond/batches"
require "millpond/event_results"
require "millpond/event_worker"

module Millpond
  # A queue of events, which fire at their time; made by {Client#events}.
  #
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

    # Adds an event, for now or for a time.
    #
    # A step that is sent again for a lost connection adds nothing twice. After {ConnectionLostError} or
    # {TimeoutError} the event may or may not be there; published again with the same deduplication id it is there
    # once.
    #
    # @param payload [String] what to publish, at most 16 MiB
    # @param key [String, nil] events of one key are delivered one at a time, in the order in which they fire. None is
    #   the default
    # @param at_ms [Integer, Time, nil] when it fires, in milliseconds since the Unix epoch; a time that is over is
    #   now
    # @param delay [Numeric, nil] it fires so long after it is published, in seconds
    # @param ttl [Numeric, nil] it is dropped if it was not received for this time after it was to fire, in seconds
    # @param dedup_id [String, nil] of events of one key with this id one is added: for producers that may publish
    #   twice
    # @param dedup_window [Numeric, nil] for how long the id is remembered, though the event has ended, in seconds;
    #   five minutes by default
    # @param if_exists [Symbol, nil] what an id means that is taken; `:ignore` by default
    # @param headers [Hash, Enumerable<Array(String, String)>, nil] its headers, all of them: names with any bytes, as
    #   `header` adds them
    # @return [Published]
    # @raise [InvalidArgumentError] for an event beyond its limits, before anything is sent
    # @raise [AlreadyExistsError] if its deduplication id is taken and it says so
    # @raise [QueueFullError] if its partition holds as much as its configuration allows
    # @raise [WrongTypeError] if a key holds something else. Then nothing was added
    # @raise [TypeError] for arguments of other types
    #
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

    # Makes a command that publishes an event, for a transaction of your own: a change of data on the same Redis and
    # the event that tells of it happen together or not at all. It sends nothing.
    #
    # The command is a list of byte strings, `EVAL` and what belongs to it, to queue behind a `MULTI` over a
    # connection to the same database. Whenever it runs, it publishes as {#publish} does: it makes the queue if that
    # is not there, finds the partition if the queue was resharded, and counts a delay from then on. Its reply is the
    # id of the event as text; of a duplicate that of the event that was there.
    #
    # Redis undoes nothing when a command of a transaction fails, so this one does not fail for what the queue holds:
    # it adds an event to a queue that is full, and an event that is to be refused if its deduplication id is taken is
    # refused here.
    #
    # On a cluster a transaction is in one slot: the keys that it changes and the queue's name need the same `{tag}`.
    #
    # The command publishes each time that it runs: with a deduplication id a transaction that is repeated publishes
    # once. It fails, and the rest of the transaction does not, while the queue is being deleted, and if a key of the
    # queue holds something else or was written by a version that this one does not know.
    #
    # @param payload [String] what to publish, at most 16 MiB
    # @param key [String, nil] events of one key are delivered one at a time, in the order in which they fire. None is
    #   the default
    # @param at_ms [Integer, Time, nil] when it fires, in milliseconds since the Unix epoch; a time that is over is
    #   now
    # @param delay [Numeric, nil] it fires so long after it is published, in seconds
    # @param ttl [Numeric, nil] it is dropped if it was not received for this time after it was to fire, in seconds
    # @param dedup_id [String, nil] of events of one key with this id one is added: for producers that may publish
    #   twice
    # @param dedup_window [Numeric, nil] for how long the id is remembered, though the event has ended, in seconds;
    #   five minutes by default
    # @param if_exists [Symbol, nil] what an id means that is taken; `:ignore` by default
    # @param headers [Hash, Enumerable<Array(String, String)>, nil] its headers, all of them: names with any bytes, as
    #   `header` adds them
    # @return [Array<String>]
    # @raise [InvalidArgumentError] for an event beyond its limits, for `:error`, and with `memory:` and `file:`,
    #   which have no transactions
    # @raise [CrossSlotError] for a name without a tag on a cluster
    # @raise [TypeError] for arguments of other types
    #
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

    # Adds many events, each as {#publish} would, and returns what became of each, in their order.
    #
    # One atomic step for up to 1,000 events and 8 MiB of a partition, several for more, and one for each partition:
    # after an error some of these may be done.
    #
    # An event is a Hash of what {#publish} takes, or a String for its payload alone.
    #
    # @param events [Enumerable<Hash, String>] the events, up to 1,000,000
    # @return [Array<Published>]
    # @raise (see #publish)
    # @raise [InvalidArgumentError] for more than 1,000,000 events or 1 GiB
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish_many(["a", { payload: "b", delay: 60 }]).map(&:status) # => [:created, :created]
    def publish_many(events)
      events = EventResults.new_events(events)
      of { |out, error| Native.millpond_events_publish_many(@native, *events, out, error) }.published
    end

    # Leases up to `max` events that are ready, those first that have been so for longest, for as long as the
    # configuration says. Nobody else gets them until they are {#nack given up} or the lease is over.
    #
    # At least once. After {ConnectionLostError} or {TimeoutError} events may be leased that nobody saw: they are
    # delivered again when their lease is over.
    #
    # @param max [Integer] how many events at most, 1 to 1,000
    # @return [Array<Event>]
    # @raise [InvalidArgumentError] for a `max` of 0 or above 1,000
    # @raise [WrongTypeError] if a key holds something else
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.receive.each { |event| queue.ack(event) }
    #   queue.stats.events # => 0
    def receive(max = 1)
      max = Convert.size("max", max)
      of { |out, error| Native.millpond_events_receive(@native, max, out, error) }.events
    end

    # The consumer's loop: batches of events, as they become ready. See {#deliveries}.
    #
    # @param max [Integer] how many events a batch has at most, 1 to 1,000
    # @param wait [Numeric, nil] how long to wait when no event is ready, in seconds; without it the loop ends then;
    #   `Float::INFINITY` waits without limit
    # @param lease [Numeric, nil] how long events are leased, in seconds; as long as the queue's configuration says by
    #   default
    # @yieldparam events [Array<Event>]
    # @return [self] or, without a block, an Enumerator
    # @raise [TypeError] for arguments of other types
    # @raise [CancelledError] for an interrupt that `Thread.handle_interrupt` holds back
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish_many(%w[a b c])
    #   queue.deliveries(max: 2).map { |events| queue.ack_many(events).size } # => [2, 1]
    def deliveries(max: 1, wait: nil, lease: nil)
      return enum_for(:deliveries, max: max, wait: wait, lease: lease) unless block_given?

      settings = [TaskArguments.milliseconds("lease", lease), Convert.size("max", max), Batches.wait_ms(wait)]
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

    # A worker, which receives events, keeps them while they are worked on, and says what becomes of them. See
    # {EventWorker}.
    #
    # @param concurrency [Integer] how many jobs `run` works on at a time, 1 or more
    # @param prefetch [Integer] how many more jobs `run` holds ready, so that one step takes several
    # @param timeout [Numeric, nil] how long a handler may work, in seconds
    # @param lease [Numeric, nil] how long an event is leased, in seconds; as long as the queue's configuration says
    #   by default. A native thread extends it three times a lease
    # @return [EventWorker]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.worker(concurrency: 4).drain { |job| job.event.payload }.done # => 1
    def worker(concurrency: 1, prefetch: 0, timeout: nil, lease: nil)
      options = Convert.options(Native::EventsWorkerOptions, concurrency: concurrency, prefetch: prefetch,
                                                             timeout: timeout, lease: lease)
      EventWorker.new(@native, @encoding, concurrency, options)
    end

    # Ends a delivery: the event is done, and deleted, or kept for the `retention` of the queue.
    #
    # An event whose lease is over can still be ended by this as long as nobody else has received it.
    #
    # @param delivery [Event, EventReceipt] the event, as it was received
    # @return [nil]
    # @raise [LeaseLostError] if the event was delivered again since, or its delivery had ended in another way. An
    #   event that had been ended by this is no error
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.ack(queue.receive.first) # => nil
    def ack(delivery)
      delivery = EventResults.delivery(delivery)
      done { |error| Native.millpond_events_ack(@native, delivery, error) }
    end

    # Says that working on an event failed, and why: it is delivered again after the backoff of the configuration, or
    # after this time, and becomes a dead letter if that was its last attempt. The events of its key wait meanwhile.
    #
    # Of `err` the last 1,024 bytes are kept.
    #
    # @param delivery [Event, EventReceipt] the event, as it was received
    # @param err [String] what went wrong, of which 1,024 bytes are kept
    # @param after [Numeric, nil] how long until it is delivered again, in seconds
    # @return [nil]
    # @raise (see #ack)
    # @raise [InvalidArgumentError] for a time above 100 years
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.nack(queue.receive.first, "no paper", after: 0)
    #   queue.receive.map { |event| [event.attempts, event.err] } # => [[2, "no paper"]]
    def nack(delivery, err = "", after: nil)
      delivery = EventResults.delivery(delivery)
      err = Convert.sized("err", err)
      after = TaskArguments.milliseconds("after", after)
      done { |error| Native.millpond_events_nack(@native, delivery, *err, after, error) }
    end

    # Gives an event back, at once or after this time, as if it had not been delivered.
    #
    # @param delivery [Event, EventReceipt] the event, as it was received
    # @param after [Numeric, nil] how long until it is delivered again, in seconds; at once by default
    # @return [nil]
    # @raise (see #nack)
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.release(queue.receive.first)
    #   queue.receive.map(&:attempts) # => [1]
    def release(delivery, after: nil)
      delivery = EventResults.delivery(delivery)
      after = TaskArguments.milliseconds("after", after)
      done { |error| Native.millpond_events_release(@native, delivery, after, error) }
    end

    # Gives an event up: it becomes a dead letter for this reason, and the next event of its key is ready.
    #
    # @param delivery [Event, EventReceipt] the event, as it was received
    # @param reason [String] why, of which 1,024 bytes are kept
    # @return [nil]
    # @raise (see #ack)
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.dead_letter(queue.receive.first, "no such customer")
    #   queue.list(:dead).events.map { |event| [event.reason, event.err] } # => [[:rejected, "no such customer"]]
    def dead_letter(delivery, reason = "")
      delivery = EventResults.delivery(delivery)
      reason = Convert.sized("reason", reason)
      done { |error| Native.millpond_events_dead_letter(@native, delivery, *reason, error) }
    end

    # Ends many deliveries as {#ack} does, and returns what came of each, in their order.
    #
    # @param deliveries [Event, EventReceipt, Enumerable<Event, EventReceipt>] events, as they were received
    # @return [Array<Symbol>]
    # @raise [InvalidArgumentError] for an event that comes twice, and more than 1,000,000
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish_many(%w[a b])
    #   events = queue.receive(2)
    #   queue.ack_many(events) # => [:ended, :ended]
    #   queue.ack_many(events) # => [:gone, :gone]
    def ack_many(deliveries)
      list = EventResults.receipts(deliveries)
      EventResults.each(list.last, %i[lost ended gone died cancelled]) do |out, error|
        Native.millpond_events_ack_many(@native, *list, out, error)
      end
    end

    # Ends a delivery as {#ack} does, and publishes what follows from it in the same step: both or neither. What
    # follows is never refused for want of room. Returns what became of each event, in their order.
    #
    # In a queue of several partitions, events of other keys may belong to another partition than the delivery: these
    # are published first, each with a deduplication id that follows from the delivered event, unless it has one, so
    # that they are added once however often the event is delivered.
    #
    # @param delivery [Event, EventReceipt] the event, as it was received
    # @param events [Enumerable<Hash, String>] the events, up to 1,000,000
    # @return [Array<Published>]
    # @raise (see #ack)
    # @raise [LeaseLostError] also for an event that has ended, as what follows from it cannot be published any more.
    #   More than 100 events are refused
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.ack_with(queue.receive.first, ["ship"])
    #   queue.receive.map(&:payload) # => ["ship"]
    def ack_with(delivery, events)
      delivery = EventResults.delivery(delivery)
      events = EventResults.new_events(events)
      of { |out, error| Native.millpond_events_ack_with(@native, delivery, *events, out, error) }.published
    end

    # Leases events for longer: for so long from now, or for as long as the configuration says. Returns of each
    # whether it is held still.
    #
    # @param deliveries [Event, EventReceipt, Enumerable<Event, EventReceipt>] events, as they were received
    # @param lease [Numeric, nil] how long events are leased, in seconds; by default as long as the queue's
    #   configuration says
    # @return [Array<Symbol>]
    # @raise [InvalidArgumentError] for a lease below a millisecond or above 100 years, and more than 1,000,000 events
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.renew(queue.receive, lease: 60) # => [:held]
    def renew(deliveries, lease: nil)
      list = EventResults.receipts(deliveries)
      lease = TaskArguments.milliseconds("lease", lease)
      EventResults.each(list.last, %i[lost held cancelled]) do |out, error|
        Native.millpond_events_extend(@native, *list, lease, out, error)
      end
    end

    # Removes events that are not leased, wherever they wait, and dead letters. With `also_running` the holders of
    # those that are leased are told to stop, and these are not tried again. Returns what became of each.
    #
    # @param ids [String, Event, Published, Enumerable<String, Event, Published>] ids of events
    # @param also_running [Boolean] whether events that are leased are cancelled too, of which their holders are told
    # @return [Array<Symbol>]
    # @raise [InvalidArgumentError] for an event that comes twice, and more than 1,000,000
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   reminder = queue.publish("remind", delay: 60)
    #   queue.cancel([reminder, reminder.id.tr("0-9", "0")]) # => [:removed, :gone]
    def cancel(ids, also_running: false)
      list, count = EventResults.ids(ids)
      EventResults.each(count, %i[gone removed running]) do |out, error|
        Native.millpond_events_cancel(@native, list, count, also_running ? true : false, out, error)
      end
    end

    # Gives events another time whose time has not come: so long from now. Returns what became of each.
    #
    # @param ids [String, Event, Published, Enumerable<String, Event, Published>] ids of events
    # @param delay [Numeric, nil] how long from now, in seconds
    # @param at_ms [Integer, Time, nil] when, in milliseconds since the Unix epoch, in place of `delay`
    # @return [Array<Symbol>]
    # @raise (see #cancel)
    # @raise [InvalidArgumentError] for a delay above 100 years
    #
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

    # Reads events by their ids, in their order, with what they wait for: nil for one that is not there, as it has
    # ended and is not kept, or never was. Makes no queue.
    #
    # An event is as the last step left it: one whose time or lease is over is scheduled or leased until somebody
    # receives, one that has expired is there until its turn comes.
    #
    # @param ids [String, Event, Published, Enumerable<String, Event, Published>] ids of events
    # @return [Array<Event, nil>]
    # @raise [InvalidArgumentError] for more than 1,000,000 ids
    # @raise [WrongTypeError] if a key holds something else
    # @raise [TypeError] for arguments of other types
    #
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

    # Lists the events of one state over all partitions, by the time of that and by id, page by page. Makes no queue.
    #
    # Events that are `:behind` another one are listed by its key, in the order in which they come; a page that comes
    # after one that is not there any more begins with the first. A page may hold fewer events than its limit and
    # still have a next one: it ends when payloads make more than 8 MiB, and leaves out what was cancelled in a long
    # lane. Events are as the last step left them, as for a {#fetch}.
    #
    # @param state [Symbol] what the events wait for
    # @param key [String, nil] the key of the events to list, which those need that are `:behind` another event of it,
    #   and only those take
    # @param since_us [Integer, nil] only events whose `state_at_us` is this one or later, in microseconds since the
    #   Unix epoch
    # @param before_us [Integer, nil] only events whose `state_at_us` is earlier than this one, in microseconds since
    #   the Unix epoch
    # @param after [EventPosition, Event, nil] the page after this position
    # @param limit [Integer, nil] at most this many events; 100 by default, at most 1,000
    # @return [EventPage]
    # @raise [InvalidArgumentError] for a limit of 0 or above 1,000; for events that are behind another one without a
    #   key or with bounds of time, and for others with a key
    # @raise [WrongTypeError] if a key holds something else
    # @raise [TypeError] for arguments of other types
    #
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

    # Makes dead letters events again that are ready, or come behind the others of their keys, and returns what became
    # of each.
    #
    # Their attempts and crashes count from 0 again, and they are {Event#redriven} once more. Such an event keeps its
    # id, does not expire any more, and does not take its deduplication id again, which may be another event's by now.
    # No earlier delivery of it can be ended any more.
    #
    # A step that is sent again for a lost connection redrives nothing twice that died again meanwhile.
    #
    # @param ids [String, Event, Published, Enumerable<String, Event, Published>] ids of events
    # @return [Array<Symbol>]
    # @raise [InvalidArgumentError] for an event that comes twice, and more than 1,000,000
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.dead_letter(dead = queue.receive.first, "no such customer")
    #   queue.redrive(dead) # => [:redriven]
    def redrive(ids)
      list, count = EventResults.ids(ids)
      EventResults.each(count, %i[gone redriven not_dead]) do |out, error|
        Native.millpond_events_redrive(@native, list, count, out, error)
      end
    end

    # Makes all dead letters events again that the filter lets through, as {#redrive} does, and returns how many. Of
    # each partition those come first that died first. What dies while this runs stays dead. Makes no queue.
    #
    # Steps of up to 1,000 dead letters each: after an error some may be redriven.
    #
    # @param reason [Symbol, nil] only those that were given up for this reason
    # @param since_us [Integer, nil] only those that were given up at this time or later, in microseconds since the
    #   Unix epoch
    # @param before_us [Integer, nil] only those that were given up earlier than this, in microseconds since the Unix
    #   epoch
    # @param max [Integer, nil] at most this many
    # @return [Integer]
    # @raise [InvalidArgumentError] for a filter of at most 0
    # @raise [WrongTypeError] if a key holds something else
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.dead_letter(queue.receive.first)
    #   queue.redrive_all(reason: :rejected) # => 1
    def redrive_all(reason: nil, since_us: nil, before_us: nil, max: nil)
      reason &&= EventResults.number("reason", reason, EventResults::REASONS)
      filter = Convert.options(Native::EventRedriveFilter, reason: reason, since_us: since_us, before_us: before_us,
                                                           max: max)
      Call.number(:uint64) { |out, error| Native.millpond_events_redrive_all(@native, filter, out, error) }
    end

    # Removes all events of a state, or those that the filter lets through, and returns how many. Nothing is told to
    # anybody. Makes no queue.
    #
    # What is leased is never removed, so `:leased` is refused. Those that are `:behind` another event are removed by
    # its key. When the first event of a key is removed the next one is ready, and stays. The deduplication ids of
    # removed events are remembered as long as those of others.
    #
    # Steps of up to 1,000 events each: after an error some may be removed.
    #
    # @param state [Symbol] what the events wait for
    # @param key [String, nil] the key of the events to remove, which those need that are `:behind` another event of
    #   it, and only those take
    # @param before_us [Integer, nil] only events whose `state_at_us` is earlier than this one, in microseconds since
    #   the Unix epoch
    # @return [Integer]
    # @raise [InvalidArgumentError] for events that are leased, for events that are behind another one without a key
    #   or with a bound of time, and for others with a key
    # @raise [WrongTypeError] if a key holds something else
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("remind", delay: 60)
    #   queue.purge(:scheduled) # => 1
    def purge(state, key: nil, before_us: nil)
      state = EventResults.number("state", state, EventResults::STATES)
      filter = Convert.options(Native::EventPurgeFilter, key: key, before_us: before_us)
      Call.number(:uint64) { |out, error| Native.millpond_events_purge(@native, state, filter, out, error) }
    end

    # Gives the queue another number of partitions, and moves events accordingly, as few as possible. The queue is
    # made if it is not there.
    #
    # It is used meanwhile as always, but the two partitions between which events move deliver nothing until these are
    # there: some 20 s for a million events. Nothing is lost or delivered out of order, and leases and their tokens
    # stay. Whoever makes this call again goes on where another one stopped, and so do consumers that wait for events
    # of a move that nobody drives.
    #
    # Many steps. After an error some events have moved and the others have not: make the call again.
    #
    # @param partitions [Integer] how many partitions the queue is to have, 1 to 1,024
    # @return [nil]
    # @raise [InvalidArgumentError] for a number that is not from 1 to 1,024
    # @raise [WrongTypeError] if a key holds something else
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.reshard(4)
    #   queue.config.partitions # => 4
    def reshard(partitions)
      partitions = Convert.size("partitions", partitions)
      done { |error| Native.millpond_events_reshard(@native, partitions, error) }
    end

    # A part of {#reshard}, of up to 10,000 events or so, for a caller that shows how far it is or that may stop.
    # Returns how many events and other things have moved by this; 0 if there is nothing left to do. Call it until
    # then: meanwhile two partitions deliver nothing.
    #
    # @param partitions [Integer] how many partitions the queue is to have, 1 to 1,024
    # @return [Integer]
    # @raise (see #reshard)
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("remind", delay: 60)
    #   nil until queue.reshard_step(2).zero?
    #   queue.config.partitions # => 2
    def reshard_step(partitions)
      partitions = Convert.size("partitions", partitions)
      Call.number(:uint64) { |out, error| Native.millpond_events_reshard_step(@native, partitions, out, error) }
    end

    # Deletes the queue with all its events, those too that are leased, its configuration and what it remembers. A
    # delivery that ends later finds its event gone. Whoever uses the queue afterwards makes it again, as a new one.
    #
    # Several steps. While they run the queue is {UnavailableError} for others; after an error it stays so until it is
    # deleted again, which goes on where this stopped.
    #
    # @return [nil]
    # @raise [WrongTypeError] if a key holds something else
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.delete
    #   queue.stats.events # => 0
    def delete
      done { |error| Native.millpond_events_delete(@native, error) }
    end

    # How many events there are of each state, over all partitions. Makes no queue.
    #
    # @return [EventStats]
    # @raise [WrongTypeError] if a key holds something else
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("remind", delay: 60)
    #   queue.stats.scheduled # => 1
    def stats
      of { |out, error| Native.millpond_events_stats(@native, out, error) }.stats
    end

    # Gives the queue this configuration, and makes it if it is not there. When it returns each partition has it.
    #
    # @param partitions [Integer, nil] how many partitions a new queue has, 1 to 1,024: steps of different ones do not
    #   wait for each other, and may run on different servers of a cluster. {#reshard} changes it later; 1 by default
    # @param lease [Numeric, nil] for how long an event is leased to who receives it, in seconds; 30 seconds by
    #   default
    # @param max_attempts [Integer, nil] how often an event is delivered before it becomes a dead letter; 0 for any
    #   number; 20 by default
    # @param max_crashes [Integer, nil] how often a lease of an event may run out before it becomes a dead letter; 0
    #   for any number; 3 by default
    # @param backoff_min [Numeric, nil] the longest delay before the second attempt, in seconds; it doubles with each
    #   attempt; 1 second by default
    # @param backoff_max [Numeric, nil] the longest delay before any attempt, in seconds; 1 hour by default
    # @param events_max [Integer, nil] how many events a partition may hold, dead letters too; 0 for any number
    # @param dedup_ids_max [Integer, nil] how many deduplication ids a partition remembers; 1,000,000 by default
    # @param paused [Boolean] whether nothing is delivered
    # @param concurrency [Integer, nil] how many events may be leased at a time; 0 for any number. Each partition
    #   allows an equal part of that, rounded down, so it is not below the number of partitions
    # @param rate [Integer, nil] how many events a second may be delivered, those too that are delivered again; 0 for
    #   any number. Each partition allows an equal part of that
    # @param burst [Integer, nil] how many events may be delivered at once after a time with fewer than `rate` allows;
    #   0 for as many as in a second. Each partition allows an equal part of that, and at least one
    # @param retention [Numeric, nil] for how long an event is kept after it is done, to be read, in seconds; not at
    #   all by default
    # @return [nil]
    # @raise [InvalidArgumentError] for a configuration beyond its limits, and another number of partitions than the
    #   queue has
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.configure(partitions: 4, max_attempts: 5)
    #   queue.config.partitions # => 4
    def configure(partitions: nil, lease: nil, max_attempts: nil, max_crashes: nil, backoff_min: nil, backoff_max: nil,
                  events_max: nil, dedup_ids_max: nil, paused: false, concurrency: nil, rate: nil, burst: nil,
                  retention: nil)
      numbers = { partitions: partitions, max_attempts: max_attempts, max_crashes: max_crashes,
                  events_max: events_max, dedup_ids_max: dedup_ids_max,
                  concurrency: concurrency, rate: rate, burst: burst }.compact
      config = Convert.options(Native::EventConfig, **numbers, lease: lease, backoff_min: backoff_min,
                                                               backoff_max: backoff_max, paused: paused,
                                                               retention: retention)
      done { |error| Native.millpond_events_configure(@native, config, error) }
    end

    # The configuration of the queue; nil if it is not there.
    #
    # @return [EventConfig, nil]
    # @raise [WrongTypeError] if a key holds something else
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.config # => nil
    #   queue.configure(lease: 60)
    #   queue.config.lease # => 60.0
    def config
      of { |out, error| Native.millpond_events_config(@native, out, error) }&.config
    end

    # Adds a schedule, or changes the one of its id: it publishes an event at the times of a calendar rule. One that
    # is there just so stays as it is, so a program may put its schedules whenever it starts. One that is paused stays
    # so. Returns what putting it came to.
    #
    # No process of its own fires schedules: whoever receives from the queue makes events of the ticks that have come,
    # so each tick fires once, however many processes there are. While nobody receives, nothing fires; what is due
    # then fires late, as the schedule's `missed` says.
    #
    # A tick that is due fires once, by the schedule that was there when it came.
    #
    # @param id [String] the id of a schedule, up to 256 bytes, which is the key of its events
    # @param cron [String, nil] it fires when the clock of its `zone` shows what a cron expression means
    # @param zone [String, nil] the time zone of a cron expression, a name of the tz database such as `Europe/Berlin`,
    #   whose data ships with Millpond; `UTC` by default
    # @param every [Numeric, nil] it fires at a fixed interval, a second or more, in seconds: however late one event
    #   is received, the next is not later for that
    # @param anchor_ms [Integer, nil] one of the times of `every`, in milliseconds since the Unix epoch; 0 by default
    # @param payload [String, nil] what its events carry, at most 16 MiB; nothing by default
    # @param headers [Hash, Enumerable<Array(String, String)>, nil] the headers of its events: names with any bytes
    # @param ttl [Numeric, nil] an event is dropped if it was not received for this time after it was to fire, in
    #   seconds
    # @param missed [Symbol, nil] what becomes of an event that nobody has received in time; `:latest` by default
    # @param grace [Numeric, nil] for how long an event can be received before it is missed, with `:skip`, in seconds;
    #   60 seconds by default
    # @param overlap [Symbol, nil] whether events wait for each other; `:wait` by default
    # @param from_ms [Integer, nil] no tick comes before, in milliseconds since the Unix epoch
    # @param until_ms [Integer, nil] no tick comes at this time or later, in milliseconds since the Unix epoch
    # @param revision [Integer, nil] rises with each change of the program that puts the schedule: one with a lower
    #   revision than that of the schedule that is there changes nothing. 0 by default
    # @return [Symbol]
    # @raise [InvalidArgumentError] for an id that is empty or has more than 256 bytes, for what is no cron expression
    #   or no time zone, for a schedule without a rule, and for what is beyond its limits, before anything is sent
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").events("jobs")
    #   queue.put_schedule("nightly", cron: "30 3 * * *", zone: "Europe/Berlin", payload: "clean up") # => :created
    #   queue.put_schedule("look", every: 600, missed: :skip) # => :created
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

    # Makes the schedules of an owner those of a list: puts each, and removes all others that were put for this owner.
    # For a program that says at each start which schedules it has. The revision counts for all of them: one below
    # that of an earlier call for this owner changes nothing. Returns what it came to.
    #
    # Not one step: after an error some of it may be done, and the same call again does the rest.
    #
    # @param owner [String] whose schedules these are, such as the name of a program
    # @param revision [Integer] rises with each change of the list
    # @param schedules [Enumerable<Hash>] all schedules of the owner, up to 10,000
    # @return [SyncedSchedules]
    # @raise (see #put_schedule)
    #
    # @example
    #   queue = Millpond.connect("memory:").events("jobs")
    #   queue.sync_schedules("billing", 1, [{ id: "a", every: 60 }, { id: "b", every: 60 }]).created # => 2
    #   queue.sync_schedules("billing", 2, [{ id: "b", every: 60 }]).removed # => 1
    def sync_schedules(owner, revision, schedules)
      owner = Convert.bytes("owner", owner)
      revision = Convert.size("revision", revision)
      schedules = EventResults.schedules(schedules)
      of do |out, error|
        Native.millpond_events_sync_schedules(@native, owner, owner.bytesize, revision, *schedules, out, error)
      end.synced
    end

    # Removes a schedule, and returns whether it was there. Events of ticks that have come stay.
    #
    # @param id [String] the id of a schedule, up to 256 bytes, which is the key of its events
    # @return [Boolean]
    # @raise [InvalidArgumentError] for an id that is empty or too long
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").events("jobs")
    #   queue.put_schedule("nightly", cron: "@daily")
    #   queue.remove_schedule("nightly") # => true
    #   queue.remove_schedule("nightly") # => false
    def remove_schedule(id)
      on_schedule(:millpond_events_remove_schedule, id)
    end

    # Reads a schedule, if it is there.
    #
    # @param id [String] the id of a schedule, up to 256 bytes, which is the key of its events
    # @return [ScheduleInfo, nil]
    # @raise [InvalidArgumentError] for an id that is empty or too long
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").events("jobs")
    #   queue.put_schedule("nightly", cron: "30 3 * * *")
    #   queue.get_schedule("nightly").zone # => "UTC"
    #   queue.get_schedule("daily") # => nil
    def get_schedule(id)
      id = Convert.bytes("id", id)
      of { |out, error| Native.millpond_events_get_schedule(@native, id, id.bytesize, out, error) }&.schedules&.first
    end

    # Reads all schedules, by their ids.
    #
    # @return [Array<ScheduleInfo>]
    # @raise [WrongTypeError] if a key holds something else
    #
    # @example
    #   queue = Millpond.connect("memory:").events("jobs")
    #   queue.put_schedule("look", every: 600)
    #   queue.list_schedules.map(&:every) # => [600.0]
    def list_schedules
      of { |out, error| Native.millpond_events_list_schedules(@native, out, error) }.schedules
    end

    # Stops a schedule: ticks pass, and nothing comes of them. Returns whether it is there.
    #
    # @param id [String] the id of a schedule, up to 256 bytes, which is the key of its events
    # @return [Boolean]
    # @raise [InvalidArgumentError] for an id that is empty or too long
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").events("jobs")
    #   queue.put_schedule("look", every: 600)
    #   queue.pause_schedule("look") # => true
    #   queue.get_schedule("look").paused # => true
    def pause_schedule(id)
      on_schedule(:millpond_events_pause_schedule, id)
    end

    # Lets a schedule go on after a {#pause_schedule}, with its first tick after now. Returns whether it is there.
    #
    # @param id [String] the id of a schedule, up to 256 bytes, which is the key of its events
    # @return [Boolean]
    # @raise [InvalidArgumentError] for an id that is empty or too long
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").events("jobs")
    #   queue.put_schedule("look", every: 600)
    #   queue.pause_schedule("look")
    #   queue.resume_schedule("look") # => true
    def resume_schedule(id)
      on_schedule(:millpond_events_resume_schedule, id)
    end

    # Publishes an event of a schedule now, also of one that is paused; its ticks stay as they are. Returns what
    # became of it, if there is such a schedule.
    #
    # @param id [String] the id of a schedule, up to 256 bytes, which is the key of its events
    # @return [Published, nil]
    # @raise [InvalidArgumentError] for an id that is empty or too long
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   queue = Millpond.connect("memory:").events("jobs")
    #   queue.put_schedule("nightly", cron: "@daily", payload: "clean up")
    #   queue.trigger_schedule("nightly").status # => :created
    #   queue.receive.map(&:payload) # => ["clean up"]
    def trigger_schedule(id)
      id = Convert.bytes("id", id)
      of { |out, error| Native.millpond_events_trigger_schedule(@native, id, id.bytesize, out, error) }&.published&.first
    end

    # Delivers nothing any more: when it returns nobody receives an event. Those that are leased can be ended, and
    # events can be published.
    #
    # @return [nil]
    # @raise [WrongTypeError] if a key holds something else
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.publish("paid")
    #   queue.pause
    #   queue.receive # => []
    def pause
      done { |error| Native.millpond_events_pause(@native, error) }
    end

    # Delivers again after a {#pause}.
    #
    # @return [nil]
    # @raise [WrongTypeError] if a key holds something else
    #
    # @example
    #   queue = Millpond.connect("memory:").events("orders")
    #   queue.pause
    #   queue.resume
    #   queue.config.paused # => false
    def resume
      done { |error| Native.millpond_events_resume(@native, error) }
    end

    private

    def of(&call)
      EventResults.of(@encoding, &call)
    end

    def on_schedule(function, id)
      id = Convert.bytes("id", id)
      Call.number(:bool) { |out, error| Native.public_send(function, @native, id, id.bytesize, out, error) }
    end

    def done(&call)
      Call.check(&call)
      nil
    end
  end
end
