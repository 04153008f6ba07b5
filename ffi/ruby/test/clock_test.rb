# frozen_string_literal: true

require_relative "helper"
require "tmpdir"

# A clock that tests move, in place of sleeping.
class ClockTest < MillpondTest
  HOUR = 3_600

  def test_stands_still_at_the_present_or_at_a_time
    before = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond)
    now_ms = Millpond::ManualClock.new.now_ms
    assert_includes before..Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond), now_ms
    clock = Millpond::ManualClock.new(1_700_000_000_000)
    assert_nil clock.advance(1.5)
    clock.advance(1r / 2)
    assert_equal 1_700_000_002_000, clock.now_ms
    clock.advance(Float::INFINITY)
    assert_equal 9999, Time.at(clock.now_ms / 1000).utc.year
  end

  def test_arguments
    clock = Millpond::ManualClock.new(0)
    assert_raises(Millpond::InvalidArgumentError) { Millpond::ManualClock.new(-1) }
    assert_raises(TypeError) { Millpond::ManualClock.new(Time.now) }
    assert_raises(Millpond::InvalidArgumentError) { clock.advance(-1) }
    assert_raises(TypeError) { clock.advance("1") }
    assert_raises(TypeError) { Millpond.connect("memory:", clock: 1) }
    error = assert_raises(Millpond::InvalidArgumentError) { Millpond.connect("redis://127.0.0.1:1", clock: clock) }
    assert_includes error.message, "a server's time is the server's"
    assert_equal 0, clock.now_ms
  end

  def test_those_that_share_an_engine_share_its_clock
    Dir.mktmpdir do |directory|
      ["memory:ruby's clock", "file:#{directory}"].each do |url|
        clock = Millpond::ManualClock.new(1_000)
        clients = [{ clock: clock }, {}, { clock: clock }].map { |options| Millpond.connect(url, **options) }
        error = assert_raises(Millpond::InvalidArgumentError) do
          Millpond.connect(url, clock: Millpond::ManualClock.new(1_000))
        end
        assert_includes error.message, "another clock"
        clock.advance(1)
        assert_equal [2_000] * 3, clients.map { |client| client.tasks("q").time }
        clients.each(&:close)
      end
    end
  end

  # A clock that nobody has any more stands still for its engines.
  def test_an_engine_keeps_its_clock
    client = Millpond.connect("memory:", clock: Millpond::ManualClock.new(1_000))
    GC.start
    assert_equal 1_000, client.tasks("q").time
  end

  def test_an_advance_wakes_those_that_wait
    clock = Millpond::ManualClock.new
    store = Millpond.connect("memory:", clock: clock).tasks("shop")
    worker = store.worker("mails")
    claim = Thread.new { store.claims("inbox", wait: 60).first.map(&:value) }
    run = Thread.new { worker.run { worker.stop } }
    store.insert("inbox", value: 7, delay: HOUR)
    store.insert("mails", delay: HOUR)
    sleep 0.05
    clock.advance(HOUR - 1)
    assert_equal 0, store.worker(%w[inbox mails]).drain { flunk "it is not due" }.done
    clock.advance(1)
    assert_equal [7], Timeout.timeout(SOON) { claim.value }
    Timeout.timeout(SOON) { run.join }
    assert_nil store.claim("inbox")
    clock.advance(30)
    assert_equal 7, store.claim("inbox").value
  end
end
