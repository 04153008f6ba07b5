# frozen_string_literal: true

require_relative "helper"

# Nothing grows with the number of calls.
class MemoryTest < MillpondTest
  CALLS = 1_000_000
  GROWTH_BYTES_MAX = 8 * 1024 * 1024

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

  def grows_by(calls, ick)
    use(ick, calls / 10)
    before = resident_bytes
    use(ick, calls)
    resident_bytes - before
  end

  def test_a_million_calls
    grown = nil
    took = seconds { grown = grows_by(CALLS, ick_on("memory:")) }
    assert_operator grown, :<, GROWTH_BYTES_MAX
    puts format("a million calls: %.1f s, %+d KiB", took, grown / 1024)
  end

  def test_calls_to_a_server
    assert_operator grows_by(CALLS / 20, ick_on(Servers.shared.url)), :<, GROWTH_BYTES_MAX
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
    before = resident_bytes
    make.call(20_000)
    assert_operator resident_bytes - before, :<, GROWTH_BYTES_MAX
  end
end
