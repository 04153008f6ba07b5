# frozen_string_literal: true

require_relative "helper"

# What an argument of each type refuses, in every call that has one: the error names the argument, and nothing is done.
# What one call alone refuses is in the files of the queues.
class ArgumentsTest < MillpondTest
  INVALID = Millpond::InvalidArgumentError

  def setup
    @client = connect("memory:")
    @ick = @client.ick("x")
    @channel = @client.ick_channel("x", 1)
    @shuffle = @client.shuffle_queue("x")
    @consumer = @shuffle.consumer("g", "c")
    @receipt = Millpond::Receipt.new(0, "1-1")
    @store = @client.tasks("x")
    @task = Millpond::Task.new(id: "t", version: 0)
    @doc = Millpond::Doc.new(namespace: "n", id: "d", version: 0)
    @events = @client.events("x")
    @hash = @client.volatile_hash("x")
    @lock = @hash.lock("l", ttl: 3_600)
    @family = @client.volatile_hashes("x")
    @recruiter = @client.recruiter("x")
    @tracker = @client.queue_tracker("x")
  end

  def contents
    [@ick.stats, @shuffle.len, @store.queues, @store.namespace_stats, @events.stats.events, @events.list_schedules,
     @hash.stats, @recruiter.enlist, @tracker.stats]
  end

  def each_call(calls)
    before = contents
    calls.each { |name, of_name| of_name.each { |call| yield name, call } }
    assert_equal before, contents
  end

  def refused(kind, message, call, value)
    error = assert_raises(kind, "#{message.source} of #{call.source_location}") { call.call(value) }
    assert_match message, error.message
  end

  def test_times
    each_call(times) do |name, call|
      refused(TypeError, /#{name} must be a number of seconds, not String/, call, "1")
      refused(INVALID, /#{name} is -1;/, call, -1)
      refused(INVALID, /#{name} is NaN;/, call, Float::NAN)
    end
  end

  def times
    { wait: [->(time) { @ick.each_batch(1, wait: time) }, ->(time) { @channel.each_batch([0], 1, wait: time) },
             ->(time) { @consumer.read(wait: time) }, ->(time) { @consumer.read_many(1, wait: time) },
             ->(time) { @consumer.messages(wait: time) }, ->(time) { @store.claims("q", wait: time) },
             ->(time) { @store.worker("q", wait: time) }, ->(time) { @events.deliveries(wait: time) { flunk } }],
      lease: [->(time) { @store.claim("q", lease: time) }, ->(time) { @store.claim_many("q", 1, lease: time) },
              ->(time) { @store.claims("q", lease: time) }, ->(time) { @store.claim_docs("n", "k", lease: time) },
              ->(time) { @store.renew(@task, lease: time) }, ->(time) { @store.worker("q", lease: time) },
              ->(time) { @consumer.worker(lease: time) }, ->(time) { @events.worker(lease: time) },
              ->(time) { @events.deliveries(lease: time) { flunk } }, ->(time) { @events.configure(lease: time) },
              ->(time) { @recruiter.install("a", per_second: 1, lease: time) { flunk } }],
      ttl: [->(time) { @ick.lease(ttl: time) }, ->(time) { @client.shuffle_queue("x", ttl: time) },
            ->(time) { @store.insert("q", ttl: time) }, ->(time) { @events.publish("x", ttl: time) },
            ->(time) { @events.publish_many([{ payload: "x", ttl: time }]) },
            ->(time) { @events.put_schedule("a", every: 1, ttl: time) },
            ->(time) { @hash.set("f", "v", ttl: time) }, ->(time) { @hash.set_many({ "f" => "v" }, ttl: time) },
            ->(time) { @hash.set_if_absent("f", "v", ttl: time) }, ->(time) { @hash.set_if_present("f", "v", ttl: time) },
            ->(time) { @hash.set_locked("f", "t", "v", ttl: time) },
            ->(time) { @hash.set_and_release("f", "t", "v", ttl: time) },
            ->(time) { @hash.touch("f", ttl: time) }, ->(time) { @hash.acquire("f", "t", ttl: time) },
            ->(time) { @hash.get_or_acquire("f", "t", ttl: time) }, ->(time) { @hash.renew("f", "t", ttl: time) },
            ->(time) { @hash.lock("f", ttl: time) }, ->(time) { @lock.set("v", ttl: time) }],
      delay: [->(time) { @store.insert("q", delay: time) }, ->(time) { @task.change(delay: time) },
              ->(time) { @doc.change(delay: time) }, ->(time) { @events.publish("x", delay: time) },
              ->(time) { @events.reschedule([], delay: time) },
              ->(time) { @consumer.release(@receipt, min_idle: 1, delay: time) }],
      min_idle: [->(time) { @consumer.reclaim(min_idle: time, max: 1) },
                 ->(time) { @consumer.release(@receipt, min_idle: time) },
                 ->(time) { @shuffle.remove_idle_consumers(min_idle: time) }],
      timeout: [->(time) { Millpond.connect("redis://h", timeout: time) }, ->(time) { @store.worker("q", timeout: time) },
                ->(time) { @consumer.worker(timeout: time) }, ->(time) { @events.worker(timeout: time) },
                ->(time) { @recruiter.set_decision_timeout(time) }],
      connect_timeout: [->(time) { Millpond.connect("redis://h", connect_timeout: time) }],
      backoff: [->(time) { @store.worker("q", backoff: time) }, ->(time) { @consumer.worker(backoff: time) }],
      backoff_max: [->(time) { @store.worker("q", backoff_max: time) }, ->(time) { @consumer.worker(backoff_max: time) },
                    ->(time) { @events.configure(backoff_max: time) }],
      within: [->(time) { @shuffle.cordon_deadline_exceeded(time) }, ->(time) { @store.worker("q").stop(within: time) },
               ->(time) { @consumer.worker.stop(within: time) }, ->(time) { @events.worker.stop(within: time) }],
      stop_within: [->(time) { @store.worker("q").run(stop_within: time) { flunk } },
                    ->(time) { @consumer.worker.run(stop_within: time) { flunk } },
                    ->(time) { @events.worker.run(stop_within: time) { flunk } }],
      dead_ttl: [->(time) { @client.shuffle_queue("x", dead_ttl: time) }],
      every: [->(time) { @events.put_schedule("a", every: time) }],
      budget: [->(time) { @recruiter.enlist(budget: time) },
               ->(time) { @recruiter.install("a", share: 1, budget: time) { flunk } }],
      idle_max: [->(time) { @recruiter.install("a", per_second: 1, idle_max: time) { flunk } }],
      round_min: [->(time) { @tracker.scan(round_min: time) { flunk } }, ->(time) { @tracker.begin_scan(round_min: time) },
                  ->(time) { @tracker.advance("", [], [], round_min: time) }],
      grace: [->(time) { @events.put_schedule("a", every: 1, grace: time) }],
      dedup_window: [->(time) { @events.publish("x", dedup_id: "d", dedup_window: time) }] }
  end

  def test_integers
    each_call(integers) do |name, call|
      refused(TypeError, /#{name} must be an Integer, not Float/, call, 1.0)
      refused(TypeError, /#{name} must be an Integer, not String/, call, "1")
      refused(INVALID, /#{name} is -1/, call, -1)
      refused(INVALID, /#{name} is 18446744073709551616, which is/, call, 1 << 64)
    end
  end

  def integers
    { max: [->(max) { @ick.reserve(max) }, ->(max) { @ick.exchange(max) }, ->(max) { @ick.peek(max) },
            ->(max) { @ick.each_batch(max) }, ->(max) { @channel.each_batch([0], max) },
            ->(max) { @consumer.read_many(max) }, ->(max) { @consumer.messages(max: max) },
            ->(max) { @consumer.reclaim(min_idle: 0, max: max) }, ->(max) { @shuffle.dead_letters(max: max) },
            ->(max) { @store.claim_many("p", max) }, ->(max) { @store.claims("p", max: max) },
            ->(max) { @events.receive(max) }, ->(max) { @events.deliveries(max: max) { flunk } }],
      limit: [->(limit) { @store.list("q", limit: limit) }, ->(limit) { @store.list_docs("n", limit: limit) },
              ->(limit) { @store.queues(limit: limit) }, ->(limit) { @store.queue_stats(limit: limit) },
              ->(limit) { @store.namespace_stats(limit: limit) }, ->(limit) { @events.list(:ready, limit: limit) },
              ->(limit) { @hash.fields(limit: limit) }, ->(limit) { @hash.reap(limit: limit) },
              ->(limit) { @family.reap(limit: limit) }, ->(limit) { @tracker.ids(limit: limit) },
              ->(limit) { @tracker.scan(limit: limit) { flunk } }, ->(limit) { @tracker.prune(limit: limit) { flunk } },
              ->(limit) { @tracker.begin_scan(limit: limit) }, ->(limit) { @tracker.sample(limit: limit) },
              ->(limit) { @tracker.advance("", [], [], limit: limit) }],
      after: [->(stamp) { @tracker.ids(after: stamp) }],
      stamp: [->(stamp) { @tracker.remove([], [], stamp) }],
      shards: [->(count) { @client.ick_channel("x", count) }, ->(count) { @client.volatile_hashes("x", shards: count) }],
      streams: [->(count) { @client.shuffle_queue("x", streams: count) }, ->(count) { @shuffle.resize(count) }],
      streams_per_shard: [->(count) { @client.shuffle_queue("x", streams_per_shard: count) }],
      prefer_stream: [->(number) { @shuffle.consumer("g", "c", prefer_stream: number) }],
      max_deliveries: [->(count) { @shuffle.consumer("g", "c", max_deliveries: count) }],
      time_digits: [->(count) { @shuffle.gc(time_digits: count) }],
      at_ms: [->(time) { @store.insert("q", at_ms: time) }, ->(time) { @task.change(at_ms: time) },
              ->(time) { @doc.change(at_ms: time) }, ->(time) { @events.publish("x", at_ms: time) },
              ->(time) { @events.reschedule([], at_ms: time) }],
      attempt: [->(count) { @store.insert("q", attempt: count) }, ->(count) { @task.change(attempt: count) }],
      priority: [->(number) { @store.insert("q", priority: number) }],
      max_attempts: [->(count) { @store.worker("q", max_attempts: count) }, ->(count) { @events.configure(max_attempts: count) }],
      max_crashes: [->(count) { @store.worker("q", max_crashes: count) }],
      concurrency: [->(count) { @store.worker("q", concurrency: count) }, ->(count) { @consumer.worker(concurrency: count) },
                    ->(count) { @events.worker(concurrency: count) }],
      prefetch: [->(count) { @store.worker("q", prefetch: count) }, ->(count) { @consumer.worker(prefetch: count) },
                 ->(count) { @events.worker(prefetch: count) }],
      partitions: [->(count) { @events.configure(partitions: count) }, ->(count) { @events.reshard(count) }],
      revision: [->(number) { @events.sync_schedules("app", number, []) },
                 ->(number) { @events.put_schedule("a", every: 1, revision: number) }],
      burst: [->(count) { @recruiter.install("a", per_second: 1, burst: count) { flunk } }],
      max_running: [->(count) { @recruiter.install("a", per_second: 1, max_running: count) { flunk } }],
      until_ms: [->(time) { @events.put_schedule("a", every: 1, until_ms: time) }],
      retries: [->(count) { Millpond.connect("redis://h", retries: count) }] }
  end

  def test_strings
    each_call(strings) do |name, call|
      refused(TypeError, /#{name} must be a String, not Symbol/, call, :x)
      refused(TypeError, /#{name} must be a String, not Integer/, call, 7)
    end
  end

  def strings
    { url: [->(url) { Millpond.connect(url) }],
      username: [->(text) { Millpond.connect("redis://h", username: text) }],
      password: [->(text) { Millpond.connect("redis://h", password: text) }],
      client_name: [->(text) { Millpond.connect("redis://h", client_name: text) }],
      name: [->(name) { @client.ick(name) }, ->(name) { @client.ick_channel(name, 1) },
             ->(name) { @client.shuffle_queue(name) }, ->(name) { @client.tasks(name) }, ->(name) { @client.events(name) },
             ->(name) { @client.volatile_hash(name) }, ->(name) { @client.volatile_hashes(name) },
             ->(name) { @client.recruiter(name) }, ->(name) { @client.queue_tracker(name) },
             ->(name) { Millpond::Ick.keys(name) }, ->(name) { Millpond::ShuffleQueue.keys(name) },
             ->(name) { Millpond::TaskStore.keys(name) }],
      base: [->(base) { @family[base] }],
      job: [->(job) { @recruiter.uninstall(job) }, ->(job) { @recruiter.wake(job) }],
      member: [->(member) { @channel.ick_of(member) }],
      "members\\[0\\]": [->(member) { @ick.commit([member]) }, ->(member) { @ick.exchange(1, [member]) }],
      "pairs\\[0\\]\\[1\\]": [->(member) { @ick.add([[1, member]]) }, ->(member) { @channel.add([[1, member]]) }],
      group: [->(group) { @shuffle.consumer(group, "c") }, ->(group) { @shuffle.stats(group) },
              ->(group) { @shuffle.pending_count(group) }],
      consumer: [->(consumer) { @shuffle.consumer("g", consumer) }],
      shard_key: [->(key) { @shuffle.write(key, { "a" => "b" }) }, ->(key) { @shuffle.write_tracked(key, { "a" => "b" }, "a") }],
      "messages\\[0\\]\\[0\\]": [->(key) { @shuffle.write_many([[key, { "a" => "b" }]]) }],
      track_field: [->(field) { @shuffle.write_tracked("t", { "a" => "b" }, field) },
                    ->(field) { @shuffle.write_tracked_many([["t", { "a" => "b" }]], field) }],
      field: [->(field) { @hash.set(field, "v", ttl: 1) }, ->(field) { @hash.set_if_absent(field, "v", ttl: 1) },
              ->(field) { @hash.set_if_present(field, "v", ttl: 1) }, ->(field) { @hash.set_locked(field, "t", "v", ttl: 1) },
              ->(field) { @hash.set_and_release(field, "t", "v", ttl: 1) }, ->(field) { @hash.get(field) },
              ->(field) { @hash.ttl(field) }, ->(field) { @hash.touch(field, ttl: 1) }, ->(field) { @hash.holder(field) },
              ->(field) { @hash.acquire(field, "t", ttl: 1) }, ->(field) { @hash.get_or_acquire(field, "t", ttl: 1) },
              ->(field) { @hash.renew(field, "t", ttl: 1) }, ->(field) { @hash.release(field, "t") },
              ->(field) { @hash.lock(field, ttl: 1) }],
      "fields\\[1\\]": [->(field) { @hash.get_many(["f", field]) }, ->(field) { @hash.delete(["f", field]) }],
      token: [->(token) { @hash.acquire("f", token, ttl: 1) }, ->(token) { @hash.get_or_acquire("f", token, ttl: 1) },
              ->(token) { @hash.renew("f", token, ttl: 1) }, ->(token) { @hash.release("f", token) },
              ->(token) { @hash.set_locked("f", token, "v", ttl: 1) },
              ->(token) { @hash.set_and_release("f", token, "v", ttl: 1) }],
      value: [->(value) { @shuffle.delete_tracked(value) }, ->(value) { @hash.set("f", value, ttl: 1) },
              ->(value) { @hash.set_if_absent("f", value, ttl: 1) }, ->(value) { @hash.set_if_present("f", value, ttl: 1) },
              ->(value) { @hash.set_locked("f", "t", value, ttl: 1) },
              ->(value) { @hash.set_and_release("f", "t", value, ttl: 1) }, ->(value) { @lock.set(value, ttl: 1) }],
      reason: [->(reason) { @consumer.reject(@receipt, reason) }],
      claimant: [->(claimant) { @client.tasks("x", claimant: claimant) }, ->(claimant) { @store.list("q", claimant: claimant) }],
      queue: [->(queue) { @store.insert(queue) }, ->(queue) { @task.change(queue: queue) },
              ->(queue) { @task.change.quarantine("a", queue) }, ->(queue) { @store.list(queue) },
              ->(queue) { @store.pause(queue) }, ->(queue) { @store.resume(queue) }],
      "queues\\[1\\]": [->(queue) { @store.claim(["p", queue]) }, ->(queue) { @store.claims(["p", queue]) },
                        ->(queue) { @store.worker(["p", queue]) }],
      error_queue: [->(queue) { @store.worker("q", error_queue: queue) }],
      after: [->(row) { @tracker.advance(row, [], []) }],
      "rows\\[1\\]": [->(row) { @tracker.advance("", ["1", row], []) }],
      "ids\\[1\\]": [->(id) { @tracker.add(["a", id]) }, ->(id) { @tracker.are_queued?(["a", id]) },
                     ->(id) { @tracker.advance("", [], ["a", id]) }, ->(id) { @tracker.remove(["a", id], [], 1) }],
      "sampled\\[1\\]": [->(id) { @tracker.remove([], ["a", id], 1) }],
      id: [->(id) { @tracker.queued?(id) }, ->(id) { @recruiter.install(id, share: 1) { flunk } },
           ->(id) { @store.insert("q", id: id) }, ->(id) { @store.put_doc("n", "k", content: 1, id: id) },
           ->(id) { @events.put_schedule(id, every: 1) }, ->(id) { @events.get_schedule(id) },
           ->(id) { @events.remove_schedule(id) }, ->(id) { @events.pause_schedule(id) },
           ->(id) { @events.resume_schedule(id) }, ->(id) { @events.trigger_schedule(id) }],
      err: [->(err) { @store.insert("q", err: err) }, ->(err) { @task.change.retry(err) }],
      json: [->(json) { @store.insert("q", json: json) }, ->(json) { @store.put_doc("n", "k", json: json) }],
      namespace: [->(name) { @store.put_doc(name, "k", content: 1) }, ->(name) { @store.get_doc(name, "k") },
                  ->(name) { @store.list_docs(name) }, ->(name) { @store.fetch_docs(name, "d") },
                  ->(name) { @store.claim_docs(name, "k") }],
      key: [->(key) { @store.put_doc("n", key, content: 1) }, ->(key) { @store.get_doc("n", key) },
            ->(key) { @events.publish("x", key: key) }, ->(key) { @events.publish_many([{ payload: "x", key: key }]) }],
      secondary_key: [->(key) { @store.put_doc("n", "k", content: 1, secondary_key: key) },
                      ->(key) { @store.get_doc("n", "k", secondary_key: key) }],
      payload: [->(payload) { @events.publish(payload) }, ->(payload) { @events.publish_many([{ payload: payload }]) },
                ->(payload) { @events.put_schedule("a", every: 1, payload: payload) }],
      dedup_id: [->(id) { @events.publish("x", dedup_id: id) }],
      cron: [->(cron) { @events.put_schedule("a", cron: cron) }],
      zone: [->(zone) { @events.put_schedule("a", cron: "@daily", zone: zone) }],
      owner: [->(owner) { @events.sync_schedules(owner, 1, []) }] }
  end

  def test_lists
    each_call(lists) do |name, call|
      refused(TypeError, /#{name} must be a list, such as an Array, not nil/, call, nil)
      refused(TypeError, /#{name} must be a list, such as an Array, not Integer/, call, 7)
    end
  end

  def lists
    { pairs: [->(pairs) { @ick.add(pairs) }, ->(pairs) { @channel.add(pairs) }],
      members: [->(members) { @ick.commit(members) }, ->(members) { @ick.exchange(1, members) }],
      numbers: [->(numbers) { @channel.each_batch(numbers, 1) }],
      fields: [->(fields) { @shuffle.write("t", fields) }, ->(fields) { @shuffle.write_tracked("t", fields, "a") },
               ->(fields) { @hash.set_many(fields, ttl: 1) }, ->(fields) { @hash.get_many(fields) },
               ->(fields) { @hash.delete(fields) }],
      messages: [->(list) { @shuffle.write_many(list) }, ->(list) { @shuffle.write_tracked_many(list, "a") },
                 *%i[ack ack_and_delete ack_each ack_and_delete_each renew].map do |method|
                   ->(list) { @consumer.public_send(method, list) }
                 end,
                 ->(list) { @consumer.reject(list, "why") }, ->(list) { @consumer.release(list, min_idle: 1) }],
      letters: [->(letters) { @shuffle.delete_dead_letters(letters) }, ->(letters) { @shuffle.redrive(letters) }],
      queues: [->(queues) { @store.claim(queues) }, ->(queues) { @store.claim_many(queues, 1) },
               ->(queues) { @store.claims(queues) }, ->(queues) { @store.worker(queues) }],
      ids: [->(ids) { @store.fetch(ids) }, ->(ids) { @store.fetch_docs("n", ids) }, ->(ids) { @store.cancel(ids) },
            ->(ids) { @events.fetch(ids) }, ->(ids) { @events.cancel(ids) }, ->(ids) { @events.redrive(ids) },
            ->(ids) { @events.reschedule(ids, delay: 1) }, ->(ids) { @tracker.add(ids) },
            ->(ids) { @tracker.are_queued?(ids) }, ->(ids) { @tracker.advance("", [], ids) },
            ->(ids) { @tracker.remove(ids, [], 1) }],
      rows: [->(rows) { @tracker.advance("", rows, []) }],
      sampled: [->(ids) { @tracker.remove([], ids, 1) }],
      "what the block returned": [->(rows) { @tracker.scan { rows } }],
      tasks: [->(tasks) { @store.renew(tasks) }],
      docs: [->(docs) { @store.renew(docs: docs) }],
      exact: [->(names) { @store.queues(exact: names) }, ->(names) { @store.queue_stats(exact: names) }],
      prefixes: [->(names) { @store.queues(prefixes: names) }, ->(names) { @store.namespace_stats(prefixes: names) }],
      events: [->(events) { @events.publish_many(events) }],
      deliveries: [->(deliveries) { @events.ack_many(deliveries) }, ->(deliveries) { @events.renew(deliveries) }],
      schedules: [->(schedules) { @events.sync_schedules("app", 1, schedules) }] }
  end
end
