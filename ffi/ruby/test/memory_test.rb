# frozen_string_literal: true

require_relative "helper"

# Nothing grows with the number of calls.
class MemoryTest < MillpondTest
  # `make test-all` makes ten times as many calls, and finds leaks a tenth as large.
  DEEP = ENV["MILLPOND_DEEP"] ? 10 : 1

  MORE = "x" * 2_000
  MEMBERS = Array.new(3) { |number| "member-#{number}" }.freeze
  MESSAGES = Array.new(10) { |number| ["tenant-#{number}", { "n" => number.to_s, "more" => MORE }] }.freeze

  # The calls of a turn, for each kind of queue; how many turns there are in memory, and on a server.
  def self.calls_of(kind, turns, on_server, open, &turn)
    { "memory:" => turns, nil => on_server }.each do |url, count|
      define_method(:"test_calls_of_#{kind}#{'_to_a_server' unless url}") do
        queue = open.call(connect(url || Servers.shared.url), name_of_queue)
        use = ->(times) { times.times { instance_exec(queue, &turn) } }
        use.call(count / 5)
        assert_does_not_grow { use.call(count) }
      end
    end
  end

  def refused(kind = Millpond::InvalidArgumentError)
    yield
  rescue kind => error
    error
  else
    flunk "it is not refused"
  end

  # Ten calls.
  calls_of :ick, 10_000 * DEEP, 1_000 * DEEP, ->(client, name) { client.ick(name) } do |ick|
    ick.add(MEMBERS.map { |member| [1.0, member] })
    ick.reserve(3)
    ick.stats
    ick.commit(MEMBERS)
    ick.exchange(3, MEMBERS)
    ick.peek(3)
    ick.each_batch(3) { break } # opens batches and asks once
    ick.delete
    refused { ick.add([[Float::NAN, "a"]]) }
  end

  open = ->(client, name) { client.shuffle_queue(name, track_keys: :queue, streams: 4) }
  calls_of :shuffle, 600, 350, open do |queue|
    consumer = queue.consumer("g", "c")
    queue.write_many(MESSAGES)
    message = consumer.read
    messages = consumer.read_many(9)
    consumer.renew(messages)
    consumer.ack(message)
    consumer.reclaim(min_idle: 0, max: 2)
    consumer.messages(max: 1) { break }
    consumer.ack_and_delete(messages << message)
    queue.write_tracked("t", { "job" => "j" }, "job", deadline: 5)
    queue.gc.to_a
    queue.delete_tracked("j")
    consumer.ack_and_delete(consumer.read)
    queue.stats("g")
    queue.dead_letters
    refused { queue.write("", { "a" => "b" }) }
    assert_equal 0, queue.backlog
  end

  calls_of :tasks, 600, 300, ->(client, name) { client.tasks(name) } do |store|
    value = { "more" => MORE }
    store.modify((0...5).reduce(modification) { |all, number| all.insert("q", value: value, err: number.to_s) })
    store.modify(modification.insert_doc("n", "k", id: "d", content: value))
    store.claim("q")
    store.claims("q", max: 2) { break }
    store.worker("q").jobs { |job| break job.retry("why", delay: 0) }
    store.worker("q").jobs do |job|
      doc, = job.claim_docs("n", "k")
      break job.finish(job.delete.change_doc(doc.change(content: value)))
    end
    store.worker("q").drain { |job| job.delete.insert("p", value: job.task.value) }
    page = store.list("q", limit: 2)
    store.list("q", after: page.next)
    store.renew(page.tasks)
    store.queue_stats(exact: "q", prefixes: %w[p r])
    docs = store.list_docs("n").docs
    refused(Millpond::DependencyError) { store.modify(modification.delete(page.tasks[0])) }.deletes
    tasks = store.list("q").tasks + store.list("p").tasks
    done = tasks.reduce(modification) { |all, task| all.delete(task) }
    store.modify(docs.reduce(done) { |all, doc| all.delete_doc(doc) })
    assert store.are_empty?(prefixes: "")
  end

  calls_of :events, 2_000, 300, ->(client, name) { client.events(name) } do |queue|
    queue.publish_many([MORE, { payload: MORE, key: "k", headers: { "h" => "v" } }])
    queue.deliveries { |(event)| break queue.ack_with(event, ["next"]) }
    queue.worker.drain { |job| job.event.payload.size }
    queue.put_schedule("own", cron: "@daily", payload: MORE)
    queue.sync_schedules("app", 1, [{ id: "a", every: 60, payload: MORE, headers: { "h" => "v" } }])
    queue.trigger_schedule("a")
    queue.ack(queue.receive.first)
    assert_equal %w[a own], queue.list_schedules.map(&:id)
    assert_match(/cron/, refused { queue.put_schedule("own", cron: MORE) }.message)
    queue.remove_schedule("own")
    assert_nil queue.get_schedule("own")
  end

  calls_of :volatile_hashes, 3_000, 300, ->(client, name) { client.volatile_hash(name) } do |hash|
    hash.set_many({ "a" => MORE, "b" => MORE }, ttl: 60)
    hash.set("a", MORE, ttl: 60)
    assert_equal [MORE, nil], hash.get_many(%w[a none])
    page = hash.fields(limit: 1)
    hash.fields(after: page.next)
    hash.get_or_acquire("a", "me", ttl: 60)
    hash.acquire("a", "me", ttl: 60)
    hash.holder("a")
    hash.set_and_release("a", "me", MORE, ttl: 60)
    hash.lock("a", ttl: 60) { |lock| lock.set(MORE, ttl: 60) }
    assert_match(/token/, refused { hash.acquire("a", MORE, ttl: 60) }.message)
    refused(Millpond::LeaseLostError) { hash.set_locked("a", "me", MORE, ttl: 60) }
    hash.reap
    hash.stats
    assert_equal 2, hash.clear
  end

  calls_of :queue_trackers, 3_000, 300, ->(client, name) { client.queue_tracker(name) } do |tracker|
    tracker.add(MEMBERS)
    assert_equal [true, false], tracker.are_queued?([MEMBERS[0], "none"])
    tracker.queued?("none")
    rows = [[MORE[0, 1_000], MORE[0, 500]], [2, nil]]
    2.times { tracker.scan(limit: 2, round_min: 0) { |after, _| after ? [] : rows } }
    page = tracker.ids(limit: 1)
    tracker.ids(after: page.last.stamp)
    assert_match(/not sampled/, refused { tracker.prune { ["none"] } }.message)
    refused(TypeError) { tracker.prune { MORE } }
    catch(:out) { tracker.prune { throw :out } }
    tracker.prune { [] }
    assert_equal 3, tracker.prune(limit: 3, &:itself).removed
    tracker.stats
    assert_equal 1, tracker.clear
  end

  open = lambda do |client, name|
    recruiter = client.recruiter(name)
    recruiter.set_duty_max(1)
    recruiter.on_error { nil }
    recruiter
  end
  calls_of :recruiters, 3_000, 600, open do |recruiter|
    recruiter.install("job", share: 1) { |slice| slice.more || slice.remaining.zero? || slice.job.size }
    2.times { assert recruiter.enlist(budget: 60).recruited }
    assert_match(/job/, refused { recruiter.install("job", share: 1) { MORE } }.message)
    recruiter.uninstall("job")
    recruiter.install("job", share: 1) { raise MORE }
    assert_equal :failed, recruiter.enlist.why
    recruiter.uninstall("job")
    recruiter.install("job", share: 1) { throw :out }
    catch(:out) { recruiter.enlist }
    recruiter.uninstall("job")
    recruiter.wake("job")
    recruiter.stats
  end

  # Does not grow with what is made and dropped.
  def makes(few, many)
    few.times { |number| yield number }
    assert_does_not_grow { many.times { |number| yield number } }
  end

  def test_clients_leases_locks_channels_recruiters_and_trackers
    makes(2_000, 20_000) do |number|
      client = Millpond.connect("memory:")
      client.ick("x").lease(ttl: 60)
      client.ick_channel("x", 3).each_batch([0], 1).to_a
      client.volatile_hashes("x")["y"].lock("a", ttl: 60)
      client.recruiter("x").install("job", share: 1) { nil }
      client.queue_tracker("x").sample
      client.close if number.even?
    end
  end

  # All that is made in these has the long name.
  LONG = "x" * 4_000

  def test_shuffle_queues_consumers_and_loops
    client = connect("memory:")
    client.shuffle_queue(LONG).write_tracked("t", { "job" => "j" }, "job", deadline: 5)
    makes(300, 3_000) do |number|
      queue = client.shuffle_queue(LONG)
      queue.gc.first
      consumer = queue.consumer("g", "c")
      batches = consumer.messages(wait: 60)
      queue.write("t", { "n" => "1" })
      consumer.ack_and_delete(batches.next) if number % 100 == 0
      consumer.messages { |batch| consumer.ack_and_delete(batch) }
    end
  end

  def test_stores_loops_and_jobs
    client = connect("memory:")
    client.tasks("x").insert(LONG)
    makes(300, 3_000) do
      store = client.tasks(LONG, claimant: "c" * 64)
      store.claims(LONG, wait: 60)
      store.insert(LONG)
      store.worker(LONG, error_queue: "e" * 4_000, wait: 60).jobs { |job| break job.done }
      store.claims(LONG).to_a
    end
  end

  def test_queues_of_events_and_loops
    client = connect("memory:")
    makes(300, 3_000) do
      queue = client.events(LONG)
      queue.deliveries(wait: 60)
      queue.publish("x")
      queue.worker.drain { nil }
      queue.deliveries.to_a
    end
  end

  # A job that is dropped is neither kept nor renewed forever.
  def test_jobs_that_are_forgotten
    store = store_on("memory:")
    before = threads_of_process
    200.times { store.insert("q") }
    200.times { store.worker("q", lease: 0.1).jobs { |job| break job } }
    3.times { GC.start }
    wait_until { store.queue_stats[0].available > 150 }
    assert_operator threads_of_process, :<, before + 5
  end

  # Calls that return 200 KB.
  LARGE = {
    ick: lambda do |client|
      ick = client.ick("x")
      ick.add(["x" * 200_000])
      -> { ick.peek(1) }
    end,
    shuffle: lambda do |client|
      queue = client.shuffle_queue("x")
      queue.write("t", { "more" => "x" * 200_000 })
      consumer = queue.consumer("g", "c")
      consumer.read
      -> { consumer.reclaim(min_idle: 0, max: 1) }
    end,
    tasks: lambda do |client|
      store = client.tasks("x")
      store.insert("q", value: "x" * 200_000)
      -> { store.claim("q", lease: 0) }
    end,
    events: lambda do |client|
      queue = client.events("x")
      queue.publish("x" * 200_000)
      -> { queue.list(:ready) }
    end,
    volatile_hashes: lambda do |client|
      hash = client.volatile_hash("x")
      hash.set("f", "x" * 200_000, ttl: 3_600)
      -> { hash.get("f") }
    end,
    queue_trackers: lambda do |client|
      tracker = client.queue_tracker("x")
      tracker.add(Array.new(400) { |number| number.to_s.ljust(500) })
      -> { tracker.prune(limit: 1_000) { [] } }
    end
  }.freeze

  # What comes with an interrupt is freed too.
  LARGE.each do |kind, open|
    define_method(:"test_interrupted_calls_of_#{kind}") do
      call = open.call(connect("memory:"))
      interrupted = 0
      calling = Thread.handle_interrupt(IndexError => :never) do
        Thread.new do
          loop do
            Thread.handle_interrupt(IndexError => :immediate) { loop { call.call } }
          rescue IndexError
            interrupted += 1
          end
        end
      end
      interrupt = lambda do |times|
        until interrupted >= times
          calling.raise(IndexError)
          sleep 0.0005
        end
      end
      interrupt.call(300)
      # A thousand results would be 200 MB; some tens are always there as Ruby's garbage.
      assert_does_not_grow(10 * GROWTH_BYTES_MAX) { interrupt.call(interrupted + 1_000) }
    ensure
      calling.kill.join
    end
  end
end
