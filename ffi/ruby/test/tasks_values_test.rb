# frozen_string_literal: true

require_relative "helper"

# Tasks and documents are values: they compare, hash and travel, and stay as they are.
class TasksValuesTest < MillpondTest
  def task(**parts)
    Millpond::Task.new(id: "t", version: 1, queue: "q", json: "[1]", **parts)
  end

  def doc(**parts)
    Millpond::Doc.new(namespace: "n", id: "d", version: 1, json: "[1]", **parts)
  end

  def test_what_is_equal
    task.value
    [task, task(expires_ms: 5), doc, task.handle, doc.handle, Millpond::Position.new(5, "t")].each do |value|
      copy = Marshal.load(Marshal.dump(value))
      assert_equal value, copy
      assert_equal value.hash, copy.hash
      assert_equal 1, [value, copy].uniq.size
    end
    read = task.tap(&:value)
    assert_equal read, task
    assert_equal [1], Marshal.load(Marshal.dump(read)).value
  end

  def test_what_differs
    changed = { at_ms: 1, created_ms: 1, modified_ms: 1, claimant: "a", claims: 1, attempt: 1, err: "e",
                priority: 1, expires_ms: 1 }
    changed.each { |name, part| refute_equal task, task(name => part) }
    refute_equal task, Millpond::Task.new(id: "t", version: 1, queue: "q", json: "[2]")
    { at_ms: 1, created_ms: 1, modified_ms: 1, claimant: "a", key: "k", secondary_key: "s" }.each do |name, part|
      refute_equal doc, doc(name => part)
    end
    [doc, task.handle, nil].each { |other| refute_equal task, other }
  end

  def test_values_are_parsed_once_and_late
    assert_same task.tap { |one| @one = one }.value, @one.value
    broken = task.tap { |one| one.instance_variable_set(:@json, "{") }
    assert_equal ["t", "{"], [broken.id, broken.json]
    assert_raises(JSON::ParserError) { broken.value }
    assert_equal [nil, nil], [Millpond::Task.new(id: "t").value, Millpond::Task.new(id: "t", json: "null").value]
  end

  def test_what_a_program_does_to_a_value_stays_its_own
    store = store_on("memory:")
    store.insert("q", value: { "n" => [1] })
    task = store.claim("q")
    task.value["n"] << 2
    store.modify(modification.change(task.change))
    assert_equal [1], store.fetch(task.id)[0].value["n"]
  end

  def test_values_that_are_written_as_json_has_them
    own = Class.new(Hash).new.update("s" => Class.new(String).new("x"))
    value = { a: [nil, true, false, 10**30, -0.5, :open], "utf16" => "é".encode("UTF-16LE"), é: "x".b, own: own }
    json = '{"a":[null,true,false,1000000000000000000000000000000,-0.5,"open"],"utf16":"é","é":"x","own":{"s":"x"}}'
    store = store_on("memory:")
    assert_equal json, store.insert("q", value: value).json
    assert_equal json, store.put_doc("n", "k", content: value).json
    deep = 99.times.reduce([]) { |inner, _| [inner] }
    assert_equal nested(100), store.insert("q", value: deep).json
    assert_raises(Millpond::InvalidArgumentError) { store.insert("q", value: [deep]) }
  end

  def test_what_a_store_takes_nests_no_deeper_than_ruby_reads
    store = store_on("memory:")
    deep = nested(100)
    task = store.insert("q", json: deep)
    assert_equal [deep, deep], [task.json, JSON.generate(task.value)]
    assert_equal deep, JSON.generate(store.put_doc("n", "k", json: deep).content)
    [-> { store.insert("q", json: nested(101)) }, -> { store.put_doc("n", "k", json: nested(101)) }].each do |call|
      assert_includes assert_raises(Millpond::InvalidArgumentError, &call).message, "nested more than 100 deep"
    end
  end

  def nested(levels)
    "#{'[' * levels}#{']' * levels}"
  end

  def test_what_comes_from_a_store_does_not_change
    store = store_on("memory:")
    inserted = store.insert("q", value: "x")
    task = store.claim("q")
    page = store.list("q")
    error = assert_raises(Millpond::DependencyError) { store.modify(modification.delete(inserted)) }
    values = [task.id, task.json, task.handle, store.claimant, store.name, store.renew(task), page,
              store.queue_stats[0], error.deletes, error.deletes[0], error.deletes[0].id]
    values.each { |value| assert_predicate value, :frozen?, value.inspect }
  end

  def test_a_change_does_not_change_itself
    change = task.change
    change.retry("a")
    store = store_on("memory:")
    store.insert("q", id: "t")
    store.modify(modification.delete(Millpond::TaskId.new("t", 0)).insert("q", id: "u"))
    assert_equal task.change.row, change.row
    assert_predicate change.row, :frozen?
  end

  def test_a_modification_can_be_done_again
    store = store_on("memory:")
    inserts = modification.insert("q", value: 1)
    ids = Array.new(2) { store.modify(inserts).inserted[0].id }
    assert_equal 2, ids.uniq.size
    assert_equal 2, store.queues["q"]
  end

  def test_what_is_given_is_not_changed_and_can_change_later
    text = +"[1]"
    queue = +"q"
    made = modification.insert(queue, json: text)
    text << "x"
    queue << "x"
    assert_equal ["q", "[1]"], store_on("memory:").modify(made).inserted.map { |task| [task.queue, task.json] }[0]
  end

  def test_an_error_of_a_programs_own
    error = Millpond::DependencyError.new("told", "op", claims: [task.handle], only_claims: true)
    assert_equal ["told", "op", [task.handle], [], true, false],
                 [error.message, error.operation, error.claims, error.doc_claims, error.only_claims?,
                  error.has_missing?]
    assert_equal [], Millpond::DependencyError.new.deletes
  end
end
