# frozen_string_literal: true

require_relative "helper"

# What may have no end is refused as it is read, before anything is sent.
class EndlessTest < MillpondTest
  def endless(value)
    Enumerator.new { |items| loop { items << value } }.lazy
  end

  def refused(message, &call)
    error = assert_raises(Millpond::InvalidArgumentError, &call)
    assert_includes error.message, message
  end

  def test_icks
    client = connect("memory:")
    ick = client.ick("x")
    channel = client.ick_channel("x", 2)
    refused("pairs has more than 1000000 items") { ick.add(endless("m")) }
    refused("pairs has more than 1000000 items") { channel.add(endless([1, "m"])) }
    refused("members has more than 1000000 items") { ick.commit(endless("m")) }
    refused("members has more than 250000 items") { ick.exchange(1, endless("m")) }
    refused("more than 1073741824 bytes") { ick.commit(["m" * (1 << 20)] * 1_025) }
    refused("numbers has more than 65536 items") { channel.each_batch(0.step, 1) { nil } }
    assert_nil ick.stats
  end

  def test_shuffle_queues
    queue = connect("memory:").shuffle_queue("x")
    consumer = queue.consumer("g", "c")
    receipt = Millpond::Receipt.new(0, "1-1")
    refused("fields has more than 32768 items") { queue.write("t", endless(%w[f v])) }
    refused("messages has more than 1000000 items") { queue.write_many(endless(["t", []])) }
    refused("messages[0][1] has more than 32768 items") { queue.write_many([["t", endless(%w[f v])]]) }
    refused("more than 1073741824 bytes") { queue.write_many([["t", { "f" => "v" * (1 << 20) }]] * 1_025) }
    refused("messages has more than 1000000 items") { consumer.ack(endless(receipt)) }
    refused("letters has more than 1000000 items") { queue.delete_dead_letters(endless("1-1")) }
    assert_equal 0, queue.len
  end

  def test_events
    queue = connect("memory:").events("x")
    refused("events has more than 1000000 items") { queue.publish_many(endless("x")) }
    refused("ids has more than 1000000 items") { queue.fetch(endless("x")) }
    refused("schedules has more than 10000 items") { queue.sync_schedules("app", 1, endless({ id: "a" })) }
    assert_equal 0, queue.stats.events
  end

  def test_volatile_hashes
    hash = connect("memory:").volatile_hash("x")
    refused("fields has more than 10000 items") { hash.set_many(endless(%w[f v]), ttl: 1) }
    refused("fields has more than 10000 items") { hash.get_many(endless("f")) }
    refused("fields has more than 10000 items") { hash.delete(endless("f")) }
    refused("more than 1073741824 bytes") { hash.set_many([["f", "v" * (1 << 20)]] * 1_025, ttl: 1) }
    assert_equal 0, hash.len
  end

  def test_queue_trackers
    tracker = connect("memory:").queue_tracker("x")
    tracker.add("a")
    refused("ids has more than 1000 items") { tracker.add(endless("a")) }
    refused("ids has more than 1000 items") { tracker.are_queued?(endless("a")) }
    refused("what the block returned has more than 1000 items") { tracker.scan { endless([1, "b"]) } }
    refused("rows has more than 1000 items") { tracker.advance("", endless("1"), endless("b")) }
    refused("what the block returned has more than 1000 items") { tracker.prune { endless("a") } }
    refused("sampled has more than 1000 items") { tracker.remove([], endless("a"), 1) }
    assert_equal [1, nil], tracker.stats.to_a.values_at(0, 3)
  end

  def test_task_stores
    store = connect("memory:").tasks("x")
    task = Millpond::TaskId.new("t", 0)
    refused("queues has more than 1000 items") { store.claim(endless("q")) }
    refused("queues has more than 1000 items") { store.worker(endless("q")) }
    refused("ids has more than 10000 items") { store.fetch(endless("t")) }
    refused("ids has more than 10000 items") { store.fetch_docs("n", endless("d")) }
    refused("tasks has more than 100000 items") { store.renew(endless(task)) }
    refused("prefixes has more than 10000 items") { store.queues(prefixes: endless("q")) }
  end
end
