# frozen_string_literal: true

require "set"

require_relative "helper"

# What the calls of task stores refuse besides what ArgumentsTest has; nothing is done.
class TasksArgumentsTest < MillpondTest
  INVALID = Millpond::InvalidArgumentError
  # Has `to_h`, and with json its `to_json`.
  Price = Struct.new(:amount)

  def setup
    @client = connect("memory:")
    @store = @client.tasks("x")
    @task = @store.insert("q", id: "t")
    @store.modify(modification.insert_doc("n", "k", id: "d"))
    @doc, = @store.fetch_docs("n", "d")
  end

  def refused(kind, message, &call)
    error = assert_raises(kind, &call)
    assert_match message, error.message
    assert_equal [[@task], [@doc]], [@store.list("q").tasks, @store.list_docs("n").docs]
  end

  def inserted(queue = "q", **settings)
    @store.modify(modification.insert(queue, **settings))
  end

  def test_stores
    refused(INVALID, /claimant is not UTF-8/) { @client.tasks("x", claimant: "\xFF") }
    refused(INVALID, /the claimant is empty/) { @client.tasks("x", claimant: "").claim("q") }
    refused(INVALID, /the claimant has 65 characters/) { @client.tasks("x", claimant: "é" * 65).claim("q") }
    refused(INVALID, /the store's name is empty/) { @client.tasks("").queues }
    refused(INVALID, /name has 65537 bytes/) { @client.tasks("x" * 65_537).time }
    assert_equal "é" * 64, @client.tasks("x", claimant: "é" * 64).claimant
  end

  def test_inserts
    refused(TypeError, /queue must be a String, not nil/) { inserted(nil) }
    refused(INVALID, /queue's name is empty/) { inserted("") }
    refused(INVALID, /queue's name has 65537 bytes/) { inserted("x" * 65_537) }
    refused(INVALID, /inserts\[0\].queue is not UTF-8/) { inserted("\xFF") }
    refused(INVALID, /the id is empty/) { inserted(id: "") }
    refused(INVALID, /the id has 65 characters/) { inserted(id: "x" * 65) }
    refused(INVALID, /the id holds a NUL/) { inserted(id: "\0") }
    refused(INVALID, /err has 65537 bytes/) { inserted(err: "x" * 65_537) }
    refused(TypeError, /err must be a String, not nil/) { inserted(err: nil) }
    refused(INVALID, /the priority is 10/) { inserted(priority: 10) }
    refused(INVALID, /attempt is 4294967296, which is out of range/) { inserted(attempt: 1 << 32) }
    refused(ArgumentError, /unknown keyword/) { inserted(lease: 5) }
    refused(ArgumentError, /wrong number of arguments/) { @store.insert("q", 5, 6) }
    twice = modification.insert("q", id: "a").insert("p", id: "a")
    refused(INVALID, /task a is named twice/) { @store.modify(twice) }
  end

  def test_values
    refused(INVALID, /value and json are both given/) { inserted(value: 1, json: "1") }
    refused(INVALID, /content and json are both given/) { modification.insert_doc("n", "k", content: 1, json: nil) }
    ["", "x", "1 2", "{'a': 1}", "[1,]", "NaN"].each do |text|
      refused(INVALID, /the value is not a JSON text/) { inserted(json: text) }
    end
    refused(INVALID, /json|value.*UTF-8/) { inserted(json: "\"\xFF\"") }
    refused(INVALID, /the value has 16777217 bytes/) { inserted(value: "x" * ((16 << 20) - 1)) }
  end

  # What JSON does not have, by what the error says after the name of the argument.
  def wrong_values
    anonymous = Class.new { define_method(:to_json) { |*| "1" } }
    circle = {}
    circle.update("a" => circle, "b" => circle)
    { " is a BasicObject, which JSON does not have" => [TypeError, BasicObject.new],
      ".items[3].price is a Rational, which JSON does not have" => [TypeError, { items: [1, 2, 3, { price: 1r }] }],
      "[1] is a Time" => [TypeError, [1, Time.now]],
      ".ids is a Set" => [TypeError, { "ids" => Set[1] }],
      '["a b"] is an Object' => [TypeError, { "a b" => Object.new }],
      " is a TasksArgumentsTest::Price" => [TypeError, Price.new(1)],
      " is a #<Class:" => [TypeError, anonymous.new],
      " has a key that is a Float; keys of JSON are Strings" => [TypeError, { 1.5 => 2 }],
      ".a[0] has a key that is a NilClass" => [TypeError, { a: [{ nil => 1 }] }],
      "[7].at is a Time" => [TypeError, { 7 => { at: Time.now } }],
      " is NaN, which JSON does not have" => [INVALID, Float::NAN],
      ".price is NaN" => [INVALID, { price: Float::NAN }],
      "[0] is -Infinity" => [INVALID, [-Float::INFINITY]],
      "[\"#{'k' * 40}…\"] is Infinity" => [INVALID, { "k" * 50 => Float::INFINITY }],
      " is not UTF-8" => [INVALID, "\xFF"],
      "[0] is not UTF-8" => [INVALID, ["é".b]],
      ".é is not UTF-8" => [INVALID, { "é" => "\xD8".dup.force_encoding("UTF-16LE") }],
      "[1] is not UTF-8" => [INVALID, [:"é", "\xFF".b.to_sym]],
      ".names has a key that is not UTF-8" => [INVALID, { names: { "\xFF" => 1 } }],
      " is nested more than 100 deep" => [INVALID, circle] }
  end

  def test_what_json_does_not_have
    wrong_values.each do |message, (kind, value)|
      refused(kind, /\Avalue#{Regexp.escape(message)}/) { inserted(value: value) }
      refused(kind, /\Avalue#{Regexp.escape(message)}/) { @task.change(value: value) }
      refused(kind, /\Acontent#{Regexp.escape(message)}/) { @doc.change(content: value) }
      refused(kind, /\Acontent#{Regexp.escape(message)}/) { modification.put_doc("n", "k", content: value) }
    end
  end

  def test_times
    refused(INVALID, /at_ms and delay are both given/) { inserted(at_ms: 1, delay: 1) }
    refused(INVALID, /at_ms is 9223372036854775808, which is too large/) { inserted(at_ms: 1 << 63) }
    refused(INVALID, /delay is .*100 years are allowed/) { inserted(delay: Float::INFINITY) }
    refused(INVALID, /time to live has to be a millisecond or more/) { inserted(ttl: 0) }
    refused(INVALID, /release goes without at_ms and delay/) { @doc.change(delay: 1, release: true) }
    refused(INVALID, /the lease is .*100 years are allowed/) { @store.claim("q", lease: Float::INFINITY) }
  end

  def test_changes
    change = ->(**settings) { @store.modify(modification.change(@task.change(**settings))) }
    refused(INVALID, /queue's name is empty/) { change.call(queue: "") }
    refused(INVALID, /the value is not a JSON text/) { change.call(json: "") }
    refused(ArgumentError, /unknown keyword/) { change.call(priority: 5) }
    refused(INVALID, /already records a failure/) { @task.change.retry("a").quarantine("b", "q") }
    refused(TypeError, /queue must be a String, not nil/) { @task.change.quarantine("a", nil) }
    refused(TypeError, /max must be an Integer/) { @task.change.retry_or_quarantine("a", "b", "3") }
    refused(INVALID, /quarantine_attempts is 4294967296/) do
      @store.modify(modification.change(@task.change.retry_or_quarantine("a", "b", 1 << 32)))
    end
    refused(TypeError, /id must be a String, not nil/) { Millpond::Task.new(id: nil).change }
    refused(TypeError, /version must be an Integer/) { Millpond::Task.new(id: "t", version: "1").change }
  end

  def test_modifications
    refused(TypeError, /modification must be a Modification, not Millpond::Task/) { @store.modify(@task) }
    refused(TypeError, /modification must be a Modification, not nil/) { @store.modify(nil) }
    refused(TypeError, /change must be a TaskChange, not Millpond::Task/) { modification.change(@task) }
    refused(TypeError, /change must be a DocChange, not Mill/) { modification.change_doc(@task.change) }
    refused(TypeError, /task must be a Task or a TaskId, not String/) { modification.delete("t") }
    refused(TypeError, /task must be a Task or a TaskId, not Millpond::Doc/) { modification.depend(@doc) }
    refused(TypeError, /doc must be a Doc or a DocId, not Millpond::Task/) { modification.delete_doc(@task) }
    refused(TypeError, /doc must be a Doc or a DocId, not nil/) { modification.depend_doc(nil) }
    refused(INVALID, /task.version is -1/) { modification.delete(Millpond::TaskId.new("t", -1)) }
    refused(TypeError, /doc.id must be a String/) { modification.delete_doc(Millpond::DocId.new("n", :d, 0)) }
    refused(TypeError, /namespace must be a String/) { modification.insert_doc(nil, "k") }
    refused(TypeError, /key must be a String/) { modification.insert_doc("n", nil) }
    refused(INVALID, /without a key needs an id/) { @store.modify(modification.insert_doc("n", "")) }
    refused(INVALID, /is put needs a content/) { @store.put_doc("n", "k") }
    refused(TypeError, /key must be a String/) { @store.put_doc("n", nil, content: 1) }
    refused(INVALID, /the key is empty/) { @store.get_doc("n", "") }
    refused(INVALID, /the namespace is empty/) { @store.modify(modification.insert_doc("", "k")) }
    refused(INVALID, /the key has 257 characters/) { @store.modify(modification.insert_doc("n", "k" * 257)) }
    long = modification.insert_doc("n", "k", secondary_key: "k" * 257)
    refused(INVALID, /secondary key has 257/) { @store.modify(long) }
    refused(INVALID, /document n\/d is named twice/) { @store.modify(modification.delete_doc(@doc).depend_doc(@doc)) }
    many = Array.new(100_001).reduce(modification) { |made, _| made.depend(@task) }
    refused(INVALID, /has 100001 entries/) { @store.modify(many) }
  end

  def test_queues
    [->(queues) { @store.claim(queues) }, ->(queues) { @store.claims(queues) { flunk } },
     ->(queues) { @store.worker(queues).run { flunk } }].each do |call|
      refused(INVALID, /queue/) { call.call([]) }
      refused(INVALID, /queue's name is empty/) { call.call(["p", ""]) }
      refused(INVALID, /queues\[0\] is not UTF-8/) { call.call("\xFF") }
      refused(INVALID, /1000/) { call.call(Array.new(1_001, &:to_s)) }
    end
  end

  def test_sizes
    [->(max) { @store.claim_many("p", max) }, ->(max) { @store.claims("p", max: max) { flunk } }].each do |call|
      [0, 1_001].each { |max| refused(INVALID, /1000/) { call.call(max) } }
    end
    [[->(limit) { @store.list("q", limit: limit) }, 10_001],
     [->(limit) { @store.list_docs("n", limit: limit) }, 10_001],
     [->(limit) { @store.queue_stats(limit: limit) }, 100_001]].each do |call, too_many|
      [0, too_many].each { |limit| refused(INVALID, /1 to 10{4,5}|limit/) { call.call(limit) } }
    end
  end

  def test_lists
    refused(TypeError, /ids\[0\] must be a String, not Millpond::Task/) { @store.fetch([@task]) }
    refused(INVALID, /id/) { @store.fetch([]) }
    refused(INVALID, /10000/) { @store.fetch_docs("n", Array.new(10_001, &:to_s)) }
    refused(TypeError, /after must be a Position or a Task, not String/) { @store.list("q", after: "t") }
    refused(TypeError, /after must be a DocPosition or a Doc/) { @store.list_docs("n", after: @task) }
    refused(TypeError, /after.at_ms must be an Integer/) { @store.list("q", after: Millpond::Position.new(nil, "t")) }
    refused(TypeError, /keys must be a Range, not String/) { @store.list_docs("n", keys: "a") }
    refused(TypeError, /keys.begin must be a String/) { @store.list_docs("n", keys: 5..) }
    refused(TypeError, /keys.end must be a String/) { @store.list_docs("n", keys: ...5) }
    refused(INVALID, /keys is a..c, with its end; write it with three dots/) { @store.list_docs("n", keys: "a".."c") }
    refused(TypeError, /prefixes\[0\] must be a String/) { @store.namespace_stats(prefixes: [5]) }
    refused(INVALID, /the filter names no queue/) { @store.are_empty? }
    refused(INVALID, /the key is empty/) { @store.claim_docs("n", ["k", ""]) }
    refused(INVALID, /at least one key/) { @store.claim_docs("n", []) }
  end

  def test_renewals
    refused(INVALID, /nothing to renew/) { @store.renew }
    refused(TypeError, /tasks\[0\] must be a Task or a TaskId, not Millpond::Doc/) { @store.renew([@doc]) }
    refused(TypeError, /docs\[1\] must be a Doc or a DocId, not nil/) { @store.renew(docs: [@doc, nil]) }
    refused(TypeError, /tasks must be a list/) { @store.renew("t") }
    refused(INVALID, /task t is named twice/) { @store.renew([@task, @task.handle]) }
  end

  def test_workers
    refused(TypeError, /max_attempts must be an Integer, not nil/) { @store.worker("q", max_attempts: nil) }
    refused(INVALID, /max_crashes is 4294967296, which is out/) { @store.worker("q", max_crashes: 1 << 32).run { flunk } }
    refused(INVALID, /error_queue is not UTF-8/) { @store.worker("q", error_queue: "\xFF").run { flunk } }
    refused(ArgumentError, /a block or a handler/) { @store.worker("q").run }
    refused(ArgumentError, /a block or a handler/) { @store.worker("q").drain(5) }
    refused(TypeError, /concurrency must be an Integer, not nil/) { @store.worker("q", concurrency: nil) }
    refused(TypeError, /within must be a number of seconds, not nil/) { @store.worker("q").stop(within: nil) }
  end

  def test_jobs
    job = @store.worker("q", lease: 60).jobs.first
    [-> { job.finish(nil) }, -> { job.retry(nil) }, -> { job.move_to(:p) },
     -> { job.claim_docs("n", nil) }].each { |call| assert_raises(TypeError, &call) }
    [-> { job.retry("", delay: -1) }, -> { job.claim_docs("n", "") },
     -> { job.finish(modification.insert("")) }].each { |call| assert_raises(INVALID, &call) }
    job.done
    assert_match(/job has ended/, assert_raises(Millpond::LeaseLostError) { job.done }.message)
    2.times { job.leave }
    [-> { job.done }, -> { job.lost? }, -> { job.handle }, -> { job.delete },
     -> { job.claim_docs("n", "k") }].each do |call|
      assert_match(/job/, assert_raises(INVALID, &call).message)
    end
    assert_equal "t", job.task.id
  end

  def test_strings_that_change_during_a_call
    made = Changing.method(:new)
    store = @client.tasks(made["y"], claimant: made["ann"])
    store.insert(made["q"], json: made["[1]"], id: made["a"], err: made["e"])
    assert_equal "ann", store.claim([made["q"]]).claimant
    assert_equal [1], store.fetch([made["a"]])[0].value
    assert_equal 1, store.list(made["q"], claimant: made["ann"]).tasks.size
    store.modify(modification.insert_doc(made["n"], made["k"], secondary_key: made["s"], json: made["2"]))
    assert_equal [2], store.list_docs(made["n"], keys: made["a"]...made["z"]).docs.map(&:content)
    assert_equal 1, store.claim_docs(made["n"], made["k"]).size
    store.insert("w")
    store.worker(made["w"], error_queue: made["bad"], max_attempts: 1).jobs { |job| job.retry(made["why"]) }
    assert_equal({ "bad" => 1, "q" => 1 }, store.queues(prefixes: [made["b"], made["q"]]))
  end
end
