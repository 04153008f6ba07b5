# frozen_string_literal: true

require_relative "helper"

# The lock of a field as its holder has it, on every backend: renewed, and released at its end.
class FieldLockTest < MillpondTest
  # Much longer than any test takes.
  LONG = 3_600

  # A call that holds the interpreter's lock, so that nothing else of Ruby runs meanwhile.
  module Interpreter
    extend FFI::Library
    ffi_lib FFI::Library::LIBC
    attach_function :usleep, [:uint32], :int
  end

  def hash_on(url, **options)
    connect(url, **options).volatile_hash(name_of_queue)
  end

  on_every_backend :a_lock_has_one_holder do |url|
    hash = hash_on(url)
    kept = nil
    result = hash.lock("a", ttl: LONG) do |lock|
      kept = lock
      refute_predicate lock, :lost?
      assert_nil hash.lock("a", ttl: LONG)
      assert_nil(hash.lock("a", ttl: LONG) { flunk "another holder has it" })
      assert_nil hash.acquire("a", "me", ttl: LONG).fence
      assert_equal lock.fence, hash.holder("a").fence
      assert_nil lock.set("1", ttl: LONG)
      hash.lock("b", ttl: LONG) { |other| other.fence > lock.fence }
    end
    assert result
    assert_equal ["1", nil, 0], [hash.get("a"), hash.holder("a"), hash.stats.locks]
    assert_predicate kept, :lost?
    refute kept.release
    assert_raises(Millpond::LeaseLostError) { kept.set("2", ttl: LONG) }
    assert_equal "1", hash.get("a")
    later = hash.lock("a", ttl: LONG)
    assert_operator later.fence, :>, kept.fence
    assert later.release
  end

  on_every_backend :a_lock_is_released_however_its_block_ends do |url|
    hash = hash_on(url)
    assert_raises(ZeroDivisionError) { hash.lock("a", ttl: LONG) { raise ZeroDivisionError } }
    assert_equal :caught, catch(:out) { hash.lock("a", ttl: LONG) { throw :out, :caught } }
    assert_equal("left", hash.lock("a", ttl: LONG) { break "left" })
    assert_equal true, hash.lock("a", ttl: LONG, &:release)
    assert hash.lock("a", ttl: LONG).release
  end

  def test_a_lost_lock_sets_nothing
    clock = Millpond::ManualClock.new
    hash = hash_on("memory:", clock: clock)
    lock = hash.lock("a", ttl: LONG)
    lock.set("1", ttl: 9 * LONG)
    clock.advance(2 * LONG)
    successor = hash.lock("a", ttl: LONG)
    assert_operator successor.fence, :>, lock.fence
    error = assert_raises(Millpond::LeaseLostError) { lock.set("2", ttl: LONG) }
    assert_equal "volatile.set", error.operation
    assert_equal "1", hash.get("a")
    refute lock.release
    assert_nil successor.set("3", ttl: LONG)
    assert successor.release
    assert_equal "3", hash.get("a")
  end

  on_every_backend :a_lock_that_is_lost_says_so do |url|
    hash = hash_on(renewing(url))
    lock = hash.lock("a", ttl: LONG)
    assert hash.release("a", hash.holder("a").token)
    wait_until { lock.lost? }
    refute lock.release
  end

  # Each time another renewal has come, though nothing of Ruby ran.
  on_every_backend :a_holder_that_blocks_the_interpreter_keeps_its_lock do |url|
    hash = hash_on(renewing(url))
    hash.lock("a", ttl: 60) do |lock|
      3.times do
        wait_until do
          Interpreter.usleep(500_000)
          hash.holder("a").remaining > 60 - 0.4
        end
      end
      refute_predicate lock, :lost?
      assert_nil lock.set("1", ttl: LONG)
    end
  end

  # By the clock of the engine it takes three times as long as the lock would last.
  def test_a_holder_that_blocks_the_interpreter_for_longer_than_its_lock_lasts
    clock = Millpond::ManualClock.new
    hash = hash_on(renewing("memory:"), clock: clock)
    hash.lock("a", ttl: 60) do |lock|
      4.times do
        clock.advance(45)
        wait_until do
          Interpreter.usleep(200_000)
          hash.holder("a").remaining == 60
        end
      end
      refute_predicate lock, :lost?
      assert_nil hash.lock("a", ttl: 60)
      assert_nil lock.set("1", ttl: 60)
    end
    assert_equal "1", hash.get("a")
  end

  on_every_backend :a_lock_that_is_dropped_is_released do |url|
    hash = hash_on(url)
    # On a stack of its own, so that no trace of it is left where the collector looks.
    Thread.new { hash.lock("a", ttl: LONG) && nil }.join
    wait_until do
      GC.start
      hash.lock("a", ttl: LONG)
    end
  end

  on_every_backend :of_many_one_at_a_time_has_the_lock do |url|
    hash = hash_on(url)
    hash.set("count", "0", ttl: LONG)
    fences = Queue.new
    threads = Array.new(6) do
      Thread.new do
        done = 0
        until done == 5
          hash.lock("count", ttl: LONG) do |lock|
            fences << lock.fence
            lock.set(hash.get("count").succ, ttl: LONG)
            done += 1
          end
        end
      end
    end
    threads.each(&:join)
    assert_equal "30", hash.get("count")
    taken = Array.new(fences.size) { fences.pop }
    assert_equal [30, taken.sort], [taken.uniq.size, taken]
  end

  on_every_backend :limits do |url|
    hash = hash_on(url)
    error = Millpond::InvalidArgumentError
    assert_match(/the time to live is 0/, assert_raises(error) { hash.lock("a", ttl: 0) }.message)
    assert_match(/the field has 65537 bytes/, assert_raises(error) { hash.lock("x" * 65_537, ttl: 1) }.message)
    hash.lock("a", ttl: LONG) do |lock|
      assert_match(/the time to live is 0/, assert_raises(error) { lock.set("1", ttl: 0) }.message)
      assert_match(/the value has/, assert_raises(error) { lock.set("x" * 16_777_217, ttl: 1) }.message)
      refute_predicate lock, :lost?
    end
    assert_equal [0, 0, 0], hash.stats.to_a
  end

  def test_a_lock_has_a_time
    hash = hash_on("memory:")
    assert_match(/missing keyword: :ttl/, assert_raises(ArgumentError) { hash.lock("a") }.message)
    assert_nil hash.holder("a")
  end
end
