# frozen_string_literal: true

require_relative "helper"
require "redis"

# Queues of events, on every backend: what fires at its time, in order by its key.
class EventsTest < MillpondTest
  INVALID = Millpond::InvalidArgumentError

  def events_on(url, name = name_of_queue, **options)
    connect(url, **options).events(name)
  end

  on_every_backend :an_event_is_received_once_and_ends do |url|
    queue = events_on(url)
    published = queue.publish("\xFF\x00", key: "c", headers: { "a" => "1" })
    assert_equal :created, published.status
    event, = queue.receive(10)
    assert_equal ["\xFF\x00".b, "c", { "a" => "1" }, 1], [event.payload, event.key, event.headers, event.attempts]
    assert_equal [], queue.receive(10)
    assert_equal [:held], queue.renew(event, lease: 60)
    queue.nack(event, "no printer", after: 0)
    assert_raises(Millpond::LeaseLostError) { queue.ack(event) }
    again, = queue.receive
    assert_equal ["no printer", 2], [again.err, again.attempts]
    assert_equal [:lost], queue.ack_many(event)
    queue.ack_with(again, ["ship", { payload: "bill", delay: 3_600 }])
    assert_equal ["ship"], queue.receive(10).map(&:payload)
    assert_equal [nil], queue.fetch(published)
  end

  on_every_backend :names_and_times do |url|
    queue = events_on(url)
    at_ms = 4_000_000_000_123
    first = queue.publish("x", at_ms: at_ms, dedup_id: "cart")
    again = queue.publish("x", dedup_id: "cart")
    assert_equal [:duplicate, first.id], [again.status, again.id]
    assert_raises(Millpond::AlreadyExistsError) { queue.publish("x", dedup_id: "cart", if_exists: :error) }
    assert_equal at_ms * 1_000, queue.fetch(first.id).first.fire_at_us
    assert_equal [:rescheduled, :gone], queue.reschedule([first, "0" * 20], at_ms: at_ms + 1)
    replaced = queue.publish("y", delay: 1.5, dedup_id: "cart", if_exists: :replace)
    assert_equal :replaced, replaced.status
    assert_equal [[:removed], [:removed]], [queue.cancel(replaced), queue.cancel(replaced)]
    expired = queue.publish("z", ttl: 0.001)
    sleep 0.01
    assert_equal [[], [nil]], [queue.receive, queue.fetch(expired)]
  end

  on_every_backend :a_worker_ends_events_as_its_handler_says do |url|
    queue = events_on(url)
    queue.configure(max_attempts: 2, backoff_min: 0.001, backoff_max: 0.001)
    ends = { "nil" => nil, "retry" => Millpond::Retry.new("busy", delay: 0), "reject" => Millpond::Reject.new("never"),
             "modification" => modification.insert("q"), "release" => Millpond::Release }
    queue.publish_many(ends.keys)
    told = []
    reports = Hash.new { |of, kind| of[kind] = [] }
    on_event = ->(report) { reports[report.kind] << report.event.payload }
    on_error = ->(job, error) { told << [job.event.payload, error.class] }
    seen = Hash.new(0)
    worker = queue.worker
    wait_until do
      worker.drain(on_error: on_error, on_event: on_event) do |job|
        (seen[job.event.payload] += 1) > 1 && job.event.payload != "modification" ? nil : ends.fetch(job.event.payload)
      end
      reports[:done].size == 3 && reports[:dead].size == 2
    end
    assert_equal %w[nil release retry], reports[:done].sort
    assert_equal %w[modification retry], reports[:retried].sort
    assert_equal %w[modification reject], reports[:dead].sort
    assert_equal %w[modification reject], told.map(&:first).uniq.sort
    dead = queue.list(:dead).events.sort_by(&:payload)
    assert_equal %i[exhausted rejected], dead.map(&:reason)
    assert_equal "never", dead.last.err
    assert_equal 1, queue.redrive_all(reason: :rejected)
    assert_equal 1, queue.purge(:dead)
    assert_equal [1, 0], [queue.stats.ready, queue.stats.dead]
  end

  on_every_backend :jobs_run_at_once_but_those_of_a_key do |url|
    queue = events_on(url)
    queue.publish_many((0...8).map { |n| { payload: n.to_s, key: n < 4 ? "one" : n.to_s } })
    worker = queue.worker(concurrency: 5, prefetch: 2)
    inside = Queue.new
    order = []
    worker.run do |job|
      number = Integer(job.event.payload)
      order << number if number < 4
      inside << number
      wait_until { inside.size >= 5 }
      refute_predicate job, :cancelled?
      worker.stop if inside.size == 8
    end
    assert_equal [0, 1, 2, 3], order
    assert_equal [*0...8], Array.new(8) { inside.pop }.sort
    assert_equal 0, queue.stats.events
  end

  on_every_backend :schedules_are_put_and_read do |url|
    queue = events_on(url)
    put = queue.put_schedule("look", every: 1.5, anchor_ms: 7, payload: "\xFF\x00", headers: { "h" => "\xFF" }, ttl: 60,
                                     missed: :expire, grace: 2, overlap: :allow, from_ms: 1, until_ms: 1 << 42, revision: 3)
    info = queue.get_schedule("look")
    assert_equal [:created, "look", 1.5, "\xFF\x00".b, false, 3, ""],
                 [put, info.id, info.every, info.payload, info.paused, info.revision, info.owner]
    assert_equal [nil, nil, nil, true], [info.cron, info.zone, info.passed_us, info.frozen?]
    assert_in_delta queue.stats.now_us + 750_000, info.next_us, SOON * 1_000_000
    event_id = queue.trigger_schedule("look").id
    event, = queue.receive
    assert_equal [event_id, "", { "h" => "\xFF".b }], [event.id, event.key, event.headers]
    lazily = %w[a b].each.lazy.map { |id| { id: id, cron: "@daily", payload: "x" } }
    assert_equal Millpond::SyncedSchedules.new(false, 2, 0, 0, 0), queue.sync_schedules("app", 1, lazily)
    assert_equal ["UTC", "UTC", nil], queue.list_schedules.map(&:zone)
    assert_equal [true, false, nil, nil],
                 [queue.remove_schedule("a"), queue.pause_schedule("a"), queue.get_schedule("a"), queue.trigger_schedule("a")]
  end

  def test_ticks_of_a_clock
    clock = Millpond::ManualClock.new
    queue = events_on("memory:", clock: clock)
    queue.put_schedule("nightly", cron: "30 3 * * *", zone: "Europe/Berlin", payload: "clean up")
    tick_us = queue.get_schedule("nightly").next_us
    assert_equal [], queue.receive
    clock.advance(86_400)
    event, = queue.receive
    assert_equal ["nightly", "clean up", tick_us], [event.key, event.payload, event.fire_at_us]
    assert_equal tick_us, queue.get_schedule("nightly").passed_us
  end

  def test_arguments_of_schedules
    queue = events_on("memory:")
    refused(TypeError, /headers/) { queue.put_schedule("a", every: 1, headers: 7) }
    refused(TypeError, /missed must be a Symbol/) { queue.put_schedule("a", every: 1, missed: "expire") }
    refused(INVALID, /overlap is :never/) { queue.put_schedule("a", every: 1, overlap: :never) }
    refused(INVALID, /Atlantis/) { queue.put_schedule("a", cron: "@daily", zone: "Europe/Atlantis") }
    refused(ArgumentError, /unknown keyword: :at/) { queue.put_schedule("a", at: 5) }
    refused(TypeError, /schedules\[1\] must be a Hash/) { queue.sync_schedules("app", 1, [{ id: "a", every: 1 }, "b"]) }
    refused(TypeError, /id must be a String, not nil/) { queue.sync_schedules("app", 1, [{ every: 1 }]) }
    refused(TypeError, /revision must be an Integer/) { queue.sync_schedules("app", nil, []) }
    refused(INVALID, /id/) { queue.pause_schedule("") }
    assert_equal [], queue.list_schedules
  end

  def test_arguments
    queue = events_on("memory:")
    refused(INVALID, /delay/) { queue.publish("x", delay: 1, at_ms: 1) }
    refused(INVALID, /if_exists/) { queue.publish("x", if_exists: :never) }
    refused(INVALID, /dedup_id/) { queue.publish("x", dedup_id: "\xFF") }
    refused(ArgumentError, /unknown keyword: :at/) { queue.publish("x", at: 5) }
    refused(TypeError, /headers/) { queue.publish("x", headers: 7) }
    refused(TypeError, /\[1\]/) { queue.publish_many(["x", 7]) }
    refused(ArgumentError, /nothing/) { queue.publish_many([{ payload: "x", nothing: 1 }]) }
    refused(INVALID, /takes 1 to 1000 events, not 0/) { queue.receive(0) }
    refused(TypeError, /delivery/) { queue.ack("x") }
    refused(INVALID, /"no id" is no id of an event/) { queue.cancel("no id") }
    refused(TypeError, /id/) { queue.fetch(7) }
    refused(INVALID, /delay or at_ms/) { queue.reschedule([]) }
    refused(INVALID, /state/) { queue.list(:waiting) }
    refused(INVALID, /partitions/) { queue.configure(partitions: 0) }
    assert_equal 0, queue.stats.events
  end

  def refused(kind, message, &call)
    assert_match message, assert_raises(kind, &call).message
  end

  def test_an_event_of_a_transaction
    queue = events_on(Servers.shared.url)
    command = queue.publish_call("\xFF\x00".b, key: "k", headers: { "a" => "1" })
    redis = Redis.new(url: Servers.shared.url)
    redis.script(:flush)
    _, id = redis.multi do |transaction|
      transaction.set("#{name_of_queue}:order", "paid")
      transaction.call(*command)
    end
    event, = queue.receive
    assert_equal [id, "\xFF\x00".b, "k"], [event.id, event.payload, event.key]
    assert_equal "paid", redis.get("#{name_of_queue}:order")
    assert_raises(INVALID) { queue.publish_call("paid", dedup_id: "a", if_exists: :error) }
    assert_raises(INVALID) { events_on("memory:").publish_call("paid") }
  end
end
