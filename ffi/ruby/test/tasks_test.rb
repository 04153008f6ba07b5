# frozen_string_literal: true

require "redis"
require_relative "helper"

# What each call of a task store does, on every backend.
class TasksTest < MillpondTest
  on_every_backend :insert_claim_delete do |url|
    store = store_on(url, claimant: "ann")
    assert_nil store.claim("q")
    before = store.time
    inserted = store.insert("q", value: { "n" => 1 })
    assert_includes before..store.time, inserted.at_ms
    assert_equal [16, 0, "q", "ann", 0, 0, "", { "n" => 1 }, 0, nil],
                 [inserted.id.size, *%i[version queue claimant claims attempt err value priority expires_ms]
                   .map { |part| inserted.public_send(part) }]
    task = store.claim(["q", "p"], lease: 60)
    assert_equal [inserted.id, 1, 1, "ann", 60_000],
                 [task.id, task.version, task.claims, task.claimant, task.at_ms - task.modified_ms]
    assert_nil store.claim("q")
    assert_equal [[], [], [], []], store.modify(modification.delete(task)).to_a
    assert_empty store.fetch(task.id)
  end

  on_every_backend :all_of_a_new_task do |url|
    store = store_on(url)
    made = modification
    made.insert("q", id: "a", json: "[1,  2]", attempt: 3, err: "broke", priority: 9, ttl: 60)
    made.insert("q", id: "b", at_ms: Time.at(0, 5, :millisecond)).insert("q", id: "c", delay: 1.5, value: nil)
    made.insert("é\u0000 q", id: "日本", value: "日本\u0000")
    assert_equal 4, made.size
    a, b, c, d = store.modify(made).inserted
    assert_equal ["[1,  2]", [1, 2], 3, "broke", 9, 60_000],
                 [a.json, a.value, a.attempt, a.err, a.priority, a.expires_ms - a.created_ms]
    assert_equal [5, nil, nil], [b.at_ms, b.json, b.value]
    assert_equal [1_500, "null", nil], [c.at_ms - c.created_ms, c.json, c.value]
    assert_equal ["é\u0000 q", "日本", "日本\u0000"], [d.queue, d.id, d.value]
    assert_equal [Encoding::UTF_8] * 3, [d.queue, d.id, d.value].map(&:encoding)
    assert_equal [b, d, a, c], store.fetch(%w[b 日本 none a c])
  end

  # Names and values are text, whatever the client's encoding is.
  on_every_backend :the_encoding_of_results do |url|
    store = connect(url, encoding: Encoding::BINARY).tasks("é#{name_of_queue}".b, claimant: "é")
    store.modify(modification.insert_doc("é", "é", content: "é"))
    texts = [store.insert("é".b, value: "é").queue, store.claim("é").json, store.claimant,
             store.queue_stats[0].queue, *store.list_docs("é").docs[0].to_h.values_at(:namespace, :key, :json)]
    assert_equal ["é", '"é"', "é", "é", "é", "é", '"é"'], texts
  end

  on_every_backend :values do |url|
    store = store_on(url)
    values = [0, -1, 2**53 + 1, 2**200, 1.5, true, false, "", "é\u{1F600}\n\u0000", [], {},
              { "a" => [nil, { "b" => 1 }] }, [[[[]]]], "x" * 100_000]
    values.each { |value| assert_equal value, store.insert("q", value: value).value }
    assert_equal({ "a" => "b", "1" => 2 }, store.insert("q", value: { a: :b, 1 => 2 }).value)
    text = '{ "n": 1.0000000000000000000001e+0, "n": 2 }'
    assert_equal text, store.insert("q", json: text).json
    assert_nil store.insert("q", json: nil).json
  end

  on_every_backend :change do |url|
    store = store_on(url, claimant: "ann")
    task = store.insert("q", value: 1, priority: 3, attempt: 2, err: "a")
    same, = store.modify(modification.change(task.change)).changed
    assert_equal [1, "q", 1, 2, "a", ""],
                 %i[version queue value attempt err claimant].map { |part| same.public_send(part) }
    held, = store.modify(modification.change(same.change(value: { "n" => 2 }, delay: 60))).changed
    assert_equal [{ "n" => 2 }, "ann", 60_000], [held.value, held.claimant, held.at_ms - held.modified_ms]
    moving = held.change(queue: "p", json: nil, at_ms: 7, attempt: 0, err: "")
    moved, = store.modify(modification.change(moving)).changed
    assert_equal ["p", nil, 7, 0, "", 3],
                 [moved.queue, moved.json, moved.at_ms, moved.attempt, moved.err, moved.priority]
    null, = store.modify(modification.change(moved.change(value: nil))).changed
    assert_equal "null", null.json
    assert_equal({ "p" => 1 }, store.queues)
  end

  on_every_backend :changes_of_what_failed do |url|
    store = store_on(url)
    task = store.insert("q", value: 1)
    retried, = store.modify(modification.change(task.change(delay: 60).retry("a"))).changed
    assert_equal [1, "a", "q", 60_000],
                 [retried.attempt, retried.err, retried.queue, retried.at_ms - retried.modified_ms]
    again, = store.modify(modification.change(retried.change.retry_or_quarantine("b", "bad", 3))).changed
    assert_equal [2, "a\nb", "q"], [again.attempt, again.err, again.queue]
    last, = store.modify(modification.change(again.change.retry_or_quarantine("c", "bad", 3))).changed
    assert_equal [3, "a\nb\nc", "bad"], [last.attempt, last.err, last.queue]
    aside, = store.modify(modification.change(last.change.quarantine("", "worse"))).changed
    assert_equal [4, "a\nb\nc", "worse", 1], [aside.attempt, aside.err, aside.queue, aside.value]
  end

  on_every_backend :claims_by_priority_and_in_batches do |url|
    store = store_on(url)
    20.times { |number| store.insert("q", value: number, priority: number % 10) }
    assert_equal [9, 9], store.claim_many("q", 2).map(&:priority)
    assert_equal 18, store.claim_many(["q"].each, 1_000, lease: 1r).size
    assert_equal [], store.claim_many("q", 5)
  end

  on_every_backend :the_loop do |url|
    store = store_on(url)
    store.modify((0...10).reduce(modification) { |all, number| all.insert("q", value: number) })
    seen = []
    result = store.claims("q", max: 4, lease: 60) do |tasks|
      seen << tasks
      assert_equal tasks.size, store.queue_stats[0].claimed
      store.modify(tasks.reduce(modification) { |done, task| done.delete(task) })
    end
    assert_same store, result
    assert_equal [[4, 4, 2], [*0...10]], [seen.map(&:size), seen.flatten.map(&:value).sort]
    store.claims("q") { flunk "there is nothing left" }
  end

  on_every_backend :a_loop_that_is_left_keeps_its_tasks do |url|
    store = store_on(url)
    4.times { store.insert("q") }
    assert_raises(StopIteration) { store.claims("q") { raise StopIteration } }
    store.claims("q") { break }
    catch(:out) { store.claims("q") { throw :out } }
    batches = store.claims("q")
    assert_equal 1, batches.next.size
    assert_raises(StopIteration) { batches.next }
    assert_equal [4, 4], [store.queue_stats[0].claimed, store.list("q").tasks.sum(&:claims)]
  end

  on_every_backend :renew do |url|
    store = store_on(url)
    store.modify(modification.insert_doc("n", "k", id: "d"))
    store.insert("q", id: "a")
    store.insert("q", id: "b")
    a, b = store.claim_many("q", 2).sort_by(&:id)
    doc, = store.claim_docs("n", "k")
    renewed = store.renew([a, b.handle], docs: doc, lease: 60)
    assert_equal [[["a", 2], ["b", 2]], [["n", "d", 2]]], [renewed.tasks.map(&:to_a), renewed.docs.map(&:to_a)]
    assert_equal [renewed.at_ms] * 3, (store.fetch(%w[a b]) + store.fetch_docs("n", "d")).map(&:at_ms)
    assert_in_delta store.time + 60_000, renewed.at_ms, 5_000
    error = assert_raises(Millpond::DependencyError) { store.renew(a, docs: [doc.handle]) }
    assert_equal [[a.handle], [doc.handle]], [error.changes, error.doc_changes]
    assert_equal 3, store.renew(renewed.tasks[0]).tasks[0].version
  end

  on_every_backend :pages do |url|
    store = store_on(url, claimant: "ann")
    5.times { |number| store.insert("q", id: "t#{number}", at_ms: 10 - number, value: "x") }
    store.insert("q", id: "later", delay: 60)
    assert_equal %w[t4 t3 t2 t1 t0 later], store.list("q").tasks.map(&:id)
    page = store.list("q", limit: 2, omit_values: true)
    assert_equal [%w[t4 t3], [nil, nil], [7, "t3"]], [page.tasks.map(&:id), page.tasks.map(&:json), page.next.to_a]
    assert_equal %w[t2 t1], store.list("q", limit: 2, after: page.next).tasks.map(&:id)
    assert_equal "t2", store.list("q", after: page.tasks.last).tasks[0].id
    assert_nil store.list("q", limit: 6).next
    assert_equal 5, store.list("q", claimant: "bob").tasks.size
    assert_equal 6, store.list("q", claimant: "ann").tasks.size
    assert_equal [[], nil], store.list("none").to_a
  end

  on_every_backend :statistics do |url|
    store = store_on(url)
    assert_equal [{}, [], []], [store.queues, store.queue_stats, store.namespace_stats]
    %w[a/1 a/1 a/2 b].each { |queue| store.insert(queue) }
    store.insert("b", delay: 60)
    2.times { store.claim("b", lease: 0) }
    store.claim("a/1")
    store.pause("b")
    stats = store.queue_stats
    assert_equal [["a/1", 2, 1, 1, 0, 1, false], ["a/2", 1, 1, 0, 0, 0, false], ["b", 2, 1, 0, 1, 2, true]],
                 stats.map { |of| of.to_a.take(7) }
    tasks = store.list("a/1").tasks
    assert_equal tasks.map(&:at_ms), [stats[0].oldest_available_ms, stats[0].first_lease_end_ms]
    assert_nil stats[1].first_lease_end_ms
    store.resume("b")
    assert_equal({ "a/1" => 2, "a/2" => 1 }, store.queues(prefixes: "a/"))
    assert_equal({ "a/2" => 1, "b" => 2 }, store.queues(exact: %w[b none], prefixes: ["a/2"].each))
    assert_equal ["a/1"], store.queue_stats(limit: 1).map(&:queue)
    assert_equal [true, false], [store.are_empty?(exact: "c"), store.are_empty?(exact: "c", prefixes: "a")]
    store.modify(modification.insert_doc("n", "k").insert_doc("n", "l").insert_doc("m", "k"))
    store.claim_docs("n", "k")
    assert_equal [["m", 1, 0], ["n", 2, 1]], store.namespace_stats.map(&:to_a)
    assert_equal [["n", 2, 1]], store.namespace_stats(exact: "n").map(&:to_a)
  end

  on_every_backend :documents do |url|
    store = store_on(url, claimant: "ann")
    made = modification.insert_doc("n", "k", id: "b", secondary_key: "2", content: { "n" => 1 })
    made.insert_doc("n", "k", id: "a", secondary_key: "1", json: "[1, 2]").insert_doc("n", "é", content: nil)
    b, a, e = store.modify(made).inserted_docs
    assert_equal ["n", "b", 0, "k", "2", { "n" => 1 }, ""],
                 %i[namespace id version key secondary_key content claimant].map { |part| b.public_send(part) }
    assert_equal ["[1, 2]", [1, 2], "null", nil, "é"], [a.json, a.content, e.json, e.content, e.id]
    assert_equal [b, a], store.fetch_docs("n", %w[b none a])

    held = store.claim_docs("n", "k", lease: 60)
    assert_equal [%w[a b], %w[ann ann], [1, 1]], [held.map(&:id), held.map(&:claimant), held.map(&:version)]
    a, b = held
    changes = modification.change_doc(a.change(content: 5)).change_doc(b.change(json: "6", release: true))
    a, b = store.modify(changes.change_doc(e.change(delay: 60))).changed_docs
    assert_equal [5, "ann", 6, ""], [a.content, a.claimant, b.content, b.claimant]
    later, = store.modify(modification.change_doc(a.change(at_ms: 1))).changed_docs
    assert_equal [1, "", 5], [later.at_ms, later.claimant, later.content]
    store.modify(modification.delete_doc(later).depend_doc(b.handle))
    assert_equal [b], store.list_docs("n", keys: ..."l").docs
    assert_equal [], store.claim_docs("n", "none")
  end

  on_every_backend :a_seed_that_runs_twice do |url|
    store = store_on(url, claimant: "ann")
    seed = modification.insert_doc("accounts", "ann", content: { "balance" => 100 })
    assert_equal ["ann"], store.modify(seed).inserted_docs.map(&:id)
    error = assert_raises(Millpond::DependencyError) { store.modify(seed) }
    assert_equal [["accounts", "ann", 0]], error.doc_inserts.map(&:to_a)
    assert_equal 1, store.claim_docs("accounts", "ann").size
    put = store.put_doc("accounts", "ann", content: { "balance" => 70 })
    assert_equal [2, { "balance" => 70 }, "ann"], [put.version, put.content, put.claimant]
    assert_equal put, store.get_doc("accounts", "ann")
    assert_nil store.get_doc("accounts", "ann", secondary_key: "2026")
    second = store.put_doc("accounts", "ann", json: "[ ]", secondary_key: "2026")
    assert_equal ["ann|2026", "[ ]"], [second.id, second.json]
    assert_equal second, store.get_doc("accounts", "ann", secondary_key: "2026")
    puts = modification.put_doc("accounts", "bob", content: nil).put_doc("accounts", "ann", content: 5)
    docs = store.modify(puts.insert_doc("accounts", "ann", id: "own")).inserted_docs
    docs = docs.map { |doc| [doc.id, doc.version, doc.json] }
    assert_equal [["own", 0, nil], ["bob", 0, "null"], ["ann", 3, "5"]], docs
  end

  on_every_backend :pages_of_documents do |url|
    store = store_on(url)
    names = %w[a b b c]
    store.modify(names.each_with_index.reduce(modification) do |all, (key, index)|
      all.insert_doc("n", key, secondary_key: index.to_s, id: "d#{index}", content: index)
    end)
    assert_equal %w[d0 d1 d2 d3], store.list_docs("n").docs.map(&:id)
    page = store.list_docs("n", limit: 2, omit_contents: true)
    assert_equal [[nil, nil], %w[b 1 d1]], [page.docs.map(&:json), page.next.to_a]
    assert_equal %w[d2 d3], store.list_docs("n", after: page.next).docs.map(&:id)
    assert_equal %w[d2], store.list_docs("n", after: page.docs.last, keys: "b"..."c").docs.map(&:id)
    assert_equal [[], nil], store.list_docs("none").to_a
  end

  on_every_backend :skip_colliding do |url|
    store = store_on(url)
    first = store.insert("q", id: "a", value: 1)
    assert_nil store.insert("p", id: "a", skip_colliding: true)
    made = modification.insert("q", id: "a", skip_colliding: true).insert("q", id: "b")
    made.insert_doc("n", "k", id: "d").insert_doc("n", "k", id: "e", skip_colliding: true)
    assert_equal [["b"], %w[d e]], store.modify(made).to_a.values_at(0, 2).map { |records| records.map(&:id) }
    assert_equal [first], store.fetch("a")
    assert_empty store.modify(modification.insert_doc("n", "k", id: "d", skip_colliding: true)).inserted_docs
  end

  on_every_backend :all_that_is_wrong do |url|
    client = connect(url)
    ann, bob = %w[ann bob].map { |claimant| client.tasks(name_of_queue, claimant: claimant) }
    %w[held taken].each { |id| bob.insert("q", id: id) }
    bob.insert("held", id: "leased")
    leased = bob.claim("held")
    bob.modify(modification.insert_doc("n", "held", id: "held").insert_doc("n", "k", id: "taken"))
    doc, = bob.claim_docs("n", "held")
    task = ->(id, version) { Millpond::Task.new(id: id, version: version, queue: "q") }
    id = ->(name, version) { Millpond::DocId.new("n", name, version) }
    wrong = modification.insert("q", id: "taken").change(task.call("c", 1).change).delete(task.call("d", 2))
    wrong.depend(Millpond::TaskId.new("e", 3)).delete(leased).insert_doc("n", "k", id: "taken")
    wrong.change_doc(Millpond::Doc.new(namespace: "n", id: "é", version: 4).change(content: 1))
    wrong.delete_doc(id.call("y", 5)).depend_doc(id.call("z", 6)).delete_doc(doc)
    error = assert_raises(Millpond::DependencyError) { ann.modify(wrong) }
    found = %i[inserts changes deletes depends claims].map { |name| error.public_send(name).map(&:to_a) }
    assert_equal [[["taken", 0]], [["c", 1]], [["d", 2]], [["e", 3]], [["leased", 1]]], found
    found = %i[doc_inserts doc_changes doc_deletes doc_depends doc_claims].map do |name|
      error.public_send(name).map(&:to_a)
    end
    assert_equal [[["n", "taken", 0]], [["n", "é", 4]], [["n", "y", 5]], [["n", "z", 6]], [["n", "held", 1]]], found
    assert_equal [true, true, true, true, true, false], flags(error)
    assert_equal ["DEPENDENCY", 22, "tasks.modify", :never], [error.name, error.code, error.operation, error.retry]
    assert_includes error.message, "document n/é is not at version 4 any more"
    assert_equal error.changes, Marshal.load(Marshal.dump(error)).changes

    error = assert_raises(Millpond::DependencyError) { ann.modify(modification.delete(leased).insert("q")) }
    assert_equal [[leased.handle], [false, false, true, false, false, true]], [error.claims, flags(error)]
    error = assert_raises(Millpond::DependencyError) { ann.claim_docs("n", "held") }
    assert_equal [[doc.handle], [false, false, false, true, false, true]], [error.doc_claims, flags(error)]
    assert_equal({ "q" => 2, "held" => 1 }, ann.queues.sort.reverse.to_h)
    # Depending on it does not require holding it.
    assert_equal 1, ann.modify(modification.depend(leased).insert("q")).inserted.size
  end

  def flags(error)
    [error.has_missing?, error.has_missing_docs?, error.has_claims?, error.has_claimed_docs?,
     error.has_collisions?, error.only_claims?]
  end

  on_every_backend :claimants do |url|
    client = connect(url)
    mine, same, other = [nil, "ann", "bob"].map { |claimant| client.tasks(name_of_queue, claimant: claimant) }
    assert_match(/\A\h{16}\z/, mine.claimant)
    refute_equal mine.claimant, client.tasks(name_of_queue).claimant
    assert_equal [name_of_queue, "ann"], [same.name, same.claimant]
    same.insert("q")
    task = same.claim("q")
    assert_raises(Millpond::DependencyError) { other.modify(modification.delete(task)) }
    client.tasks(name_of_queue, claimant: "ann").modify(modification.delete(task))
  end

  def test_keys_that_hold_something_else
    redis = Redis.new(url: Servers.shared.url)
    keys = Millpond::TaskStore.keys(name_of_queue)
    store = store_on(Servers.shared.url)
    store.insert("q", value: 1)
    assert_equal "hash", redis.type(keys.first)
    redis.del(*keys)
    redis.set(keys.first, "x")
    { "tasks.insert" => -> { store.insert("q") },
      "tasks.claim" => -> { store.claims("q", wait: 60).first } }.each do |operation, call|
      error = assert_raises(Millpond::WrongTypeError, &call)
      assert_equal operation, error.operation
      assert_includes error.message, keys.first
    end
  end

  def test_a_file_is_durable
    Dir.mktmpdir do |folder|
      task = Millpond.connect("file:#{folder}/data") do |client|
        store = client.tasks("x", claimant: "ann")
        store.modify(modification.insert("q", value: { "n" => 1 }).insert_doc("n", "k", content: 7))
        store.claim("q")
      end
      Millpond.connect("file:#{folder}/data") do |client|
        store = client.tasks("x", claimant: "ann")
        assert_equal [task], store.list("q").tasks
        assert_equal [7], store.list_docs("n").docs.map(&:content)
        store.modify(modification.delete(task))
      end
    end
  end

  def test_more_entries_than_most
    store = store_on(Servers.shared.url)
    all = (0...20_000).reduce(modification) { |made, number| made.insert("q", id: number.to_s, value: [number]) }
    inserted = store.modify(all).inserted
    assert_equal [*0...20_000], inserted.map { |task| task.value[0] }
    assert_equal 10_000, store.fetch(inserted.first(10_000).map(&:id)).size
    page = store.list("q", limit: 10_000)
    assert_equal 20_000, (page.tasks + store.list("q", limit: 10_000, after: page.next).tasks).uniq.size
    store.modify(inserted.reduce(modification) { |made, task| made.delete(task) })
    assert store.are_empty?(prefixes: "")
  end

  def test_objects_outlive_what_made_them
    store = Thread.new { Millpond.connect("memory:").tasks("x") }.value
    3.times { GC.start }
    2.times { |number| store.insert("q", value: number, priority: 9 - number) }
    jobs = store.worker("q").jobs
    job = jobs.next
    store = nil
    3.times { GC.start }
    assert_equal 0, job.task.value
    job.done
    assert_equal 1, jobs.next.task.value
    assert_nil store
  end

  # What the library reads is there until it has.
  def test_under_a_busy_garbage_collector
    store = store_on("memory:")
    GC.stress = true
    begin
      store.modify(modification.insert("q", id: "a", value: "x", err: "y").insert_doc("n", "k", id: "d", content: 1))
      page = store.list("q", limit: 1, claimant: "nobody")
      next_page = store.list("q", after: page.tasks[0])
      stats = store.queue_stats(exact: "q", prefixes: %w[a b])
      store.worker("q", error_queue: "bad", max_attempts: 1).drain(on_error: ->(*) {}) { raise "why" }
    ensure
      GC.stress = false
    end
    assert_equal [["x", "y"], [], 1], [[page.tasks[0].value, page.tasks[0].err], next_page.tasks, stats[0].size]
    assert_equal [["bad", "y\nexhausted: RuntimeError: why"]], store.list("bad").tasks.map { |task| [task.queue, task.err] }
  end
end
