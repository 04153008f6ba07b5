# frozen_string_literal: true

require_relative "helper"

# Nothing grows with the number of calls.
class MemoryTest < MillpondTest
  # `make test-all` makes ten times as many calls, and finds leaks a tenth as large.
  CALLS = ENV["MILLPOND_DEEP"] ? 1_000_000 : 100_000

  def use(ick, calls)
    members = Array.new(3) { |number| "member-#{number}" }
    pairs = members.map { |member| [1.0, member] }
    wrong = [[Float::NAN, "a"]]
    (calls / 10).times do
      ick.add(pairs)
      ick.reserve(3)
      ick.stats
      ick.commit(members)
      ick.exchange(3, members)
      ick.peek(3)
      ick.each_batch(3) { break } # opens batches and asks once
      ick.delete
      begin
        ick.add(wrong)
      rescue Millpond::InvalidArgumentError
        nil
      end
    end
  end

  def assert_calls_do_not_grow(calls, ick)
    use(ick, calls / 10)
    assert_does_not_grow { use(ick, calls) }
  end

  def test_many_calls
    grown = nil
    took = seconds { grown = assert_calls_do_not_grow(CALLS, ick_on("memory:")) }
    puts format("%d calls: %.1f s, %+d KiB", CALLS, took, grown / 1024)
  end

  def test_calls_to_a_server
    assert_calls_do_not_grow(CALLS / 10, ick_on(Servers.shared.url))
  end

  def test_clients_leases_and_channels
    make = lambda do |times|
      times.times do |number|
        client = Millpond.connect("memory:")
        client.ick("x").lease(ttl: 60)
        client.ick_channel("x", 3).each_batch([0], 1).to_a
        client.close if number.even?
      end
    end
    make.call(2_000)
    assert_does_not_grow { make.call(20_000) }
  end
end
