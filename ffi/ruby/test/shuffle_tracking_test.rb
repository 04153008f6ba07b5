# frozen_string_literal: true

require "redis"
require_relative "helper"

# Tracked messages: deleted by a value of theirs, cordoned and collected after their deadline.
class ShuffleTrackingTest < MillpondTest
  PAST = 1_000_000_000

  def job(number)
    { "job" => "j-#{number}", "task" => "resize" }
  end

  on_every_backend :delete_by_value do |url|
    queue = shuffle_queue_on(url)
    receipt = queue.write_tracked("t", job(1), "job")
    queue.write_tracked("t", { "task" => "untracked" }, "job")
    taken = queue.write_tracked("t", job(2).to_a, "job", deadline: nil)
    assert_equal 3, queue.consumer("g", "c").read_many(10).size
    assert_equal receipt, queue.delete_tracked("j-1")
    assert_nil queue.delete_tracked("j-1")
    assert_equal taken, queue.delete_tracked("j-2")
    assert_nil queue.delete_tracked("")
    assert_equal [1, 1], [queue.len, queue.pending_count("g")]
  end

  def test_global_keys
    client = connect(Servers.shared.url)
    queue = client.shuffle_queue(name_of_queue)
    receipt = queue.write_tracked("t", { "job" => name_of_queue }, "job")
    server = Redis.new(url: Servers.shared.url)
    assert_in_delta Time.now.to_i + 86_400, server.zscore("meta:deadlines", name_of_queue), 60
    assert_equal receipt, client.shuffle_queue("another", track_keys: :global).delete_tracked(name_of_queue)
  end

  on_every_backend :many_in_one_step do |url|
    queue = shuffle_queue_on(url)
    receipts = queue.write_tracked_many((0...5).map { |n| ["t-#{n}", job(n)] }, "job")
    receipts.each_with_index { |receipt, n| assert_equal receipt, queue.delete_tracked("j-#{n}") }
    assert_equal 0, queue.len
    queue.write_tracked_many([["t", job(1)]], "job", deadline: PAST)
    assert_equal ["j-1"], queue.gc.first
    assert_raises(Millpond::InvalidArgumentError) { queue.write_tracked_many([["t", job(1)]], "") }
    assert_empty queue.write_tracked_many([], "job")
  end

  on_every_backend :cordon do |url|
    queue = shuffle_queue_on(url)
    now = Time.now.to_i
    [now - 5, now - 500, now + 500, now - 50].each_with_index do |deadline, number|
      queue.write_tracked("t", job(number), "job", deadline: deadline)
    end
    assert_equal %w[j-3 j-0], queue.cordon_deadline_exceeded(99.5)
    assert_equal [], queue.cordon_deadline_exceeded(100)
    assert_equal 4, queue.len
    assert_equal %w[j-0 j-1 j-3], queue.gc.to_a.flatten.sort
    assert_nil queue.delete_tracked("j-0")
    assert queue.delete_tracked("j-2")
  end

  on_every_backend :gc do |url|
    queue = shuffle_queue_on(url)
    30.times { |number| queue.write_tracked("t", job(number), "job", deadline: PAST + number) }
    garbage = queue.gc
    assert_equal [0, 0], [garbage.scanned, garbage.deleted]
    # A loop that stops early leaves that batch for the next collection.
    first = garbage.first
    assert_equal 0, garbage.deleted
    values = []
    result = queue.gc { |batch| values.concat(batch) }
    assert_equal Array.new(30) { |number| "j-#{number}" }.sort, values.sort
    assert_empty first - values
    assert_kind_of Millpond::Garbage, result
    assert_equal 30, result.deleted
    assert_operator result.scanned, :>=, 30
    assert_equal [[], 30], [queue.gc.to_a, queue.len]
  end

  on_every_backend :gc_goes_on_after_an_exception do |url|
    queue = shuffle_queue_on(url)
    queue.write_tracked("t", job(1), "job", deadline: PAST)
    assert_raises(ZeroDivisionError) { queue.gc { raise ZeroDivisionError } }
    values = queue.gc.each
    assert_equal ["j-1"], values.next
    assert_raises(StopIteration) { values.next }
    assert_equal [], queue.gc.to_a
  end

  # One object is good for many loops, each of which begins with what the last one left.
  on_every_backend :a_loop_that_is_left_keeps_its_batch do |url|
    queue = shuffle_queue_on(url)
    queue.write_tracked("t", job(1), "job", deadline: PAST)
    garbage = queue.gc
    {
      exception: -> { assert_raises(ZeroDivisionError) { garbage.each { raise ZeroDivisionError } } },
      break: -> { garbage.each { break } },
      throw: -> { catch(:out) { garbage.each { throw :out } } },
      first: -> { garbage.first },
      include: -> { assert_includes garbage, ["j-1"] },
      enumerator: -> { garbage.each.next },
      thread: -> { Thread.new { garbage.each { Thread.current.kill } }.join }
    }.each do |how, leave|
      leave.call
      assert_equal [["j-1"]], garbage.first(1), how.to_s
    end
    assert_equal 0, garbage.deleted
    assert_operator garbage.scanned, :>=, 14
    assert_equal [["j-1"]], garbage.to_a
    assert_equal [1, 0], [garbage.deleted, garbage.count]
    queue.write_tracked("t", job(2), "job", deadline: PAST)
    during = garbage.map { garbage.deleted }
    assert_equal [[1], 2], [during, garbage.deleted]
  end

  on_every_backend :gc_of_some_digits do |url|
    queue = shuffle_queue_on(url)
    now = Time.now.to_i
    queue.write_tracked("t", job(1), "job", deadline: PAST)
    queue.write_tracked("t", job(2), "job", deadline: now - 1)
    # The first digit of the time is 1 until 2033, as is that of both.
    assert_equal "1", now.to_s[0]
    assert_equal [["j-2"]], queue.gc(time_digits: 2).to_a
    assert_equal [["j-1"]], queue.gc(time_digits: 1).to_a
  end

  on_every_backend :values_are_bytes do |url|
    queue = shuffle_queue_on(url)
    values = ["é", "\xFF\x00".b, "a:5"]
    values.each { |value| queue.write_tracked("t", { "job" => value }, "job", deadline: Time.now.to_i - 5) }
    found = queue.cordon_deadline_exceeded(60)
    assert_equal values.map(&:b).sort, found.map(&:b).sort
    assert_equal({ Encoding::UTF_8 => 2, Encoding::BINARY => 1 }, found.map(&:encoding).tally)
    assert_equal found.sort_by(&:b), queue.gc.to_a.flatten.sort_by(&:b)
  end

  def test_wrong_arguments
    queue = shuffle_queue_on("memory:")
    invalid = Millpond::InvalidArgumentError
    write = ->(deadline) { queue.write_tracked("t", job(1), "job", deadline: deadline) }
    {
      -> { queue.write_tracked("t", job(1), "") } => [invalid, /has no name/],
      -> { queue.write_tracked("t", {}, "job") } => [invalid, /message 0 has 0 fields/],
      -> { write.call("5") } => [TypeError, /deadline must be an Integer, not String/],
      -> { write.call(1.5) } => [TypeError, /deadline must be an Integer, not Float/],
      -> { write.call((1 << 53) + 1) } => [invalid, /2\^53 seconds/],
      -> { write.call(1 << 63) } => [invalid, /2\^53 seconds/],
      -> { write.call(-1 << 63) } => [invalid, /2\^53 seconds from/],
      -> { write.call(-2**70) } => [invalid, /deadline is -\d+; it has to be within 2\^53 seconds of/],
      -> { queue.delete_tracked(nil) } => [TypeError, /value must be a String/],
      -> { queue.cordon_deadline_exceeded(Float::INFINITY) } => [invalid, /within is longer than/],
      -> { queue.gc(time_digits: 0).to_a } => [invalid, /digits/],
      -> { queue.gc(time_digits: 256).to_a } => [invalid, /digits/]
    }.each do |call, (kind, told)|
      error = assert_raises(kind, told.inspect, &call)
      assert_match told, error.message
    end
    assert_equal 0, queue.len
  end
end
