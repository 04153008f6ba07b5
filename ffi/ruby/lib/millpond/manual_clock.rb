# frozen_string_literal: true

require "millpond/convert"

module Millpond
  # A clock for tests that stands still until it is advanced. What is due in an hour becomes due when the clock has
  # been advanced by an hour, and calls that wait for it are woken. An embedded engine is opened with it, as the
  # `clock` of {Millpond.connect}.
  #
  # The engine uses it for times, delays and leases. Everything else follows the system's time: how long a call waits,
  # a worker's timeout, and when a lease is renewed. So an advance by more than a lease ends the lease, as if its
  # holder had been stopped for that long.
  class ManualClock
    # @api private
    attr_reader :native

    # Creates a clock set to this time, or to the present. A time after the year 9999 becomes the end of that year.
    #
    # @param now_ms [Integer, nil] in milliseconds since the Unix epoch
    # @raise [InvalidArgumentError, TypeError] for an invalid time
    #
    # @example
    #   clock = Millpond::ManualClock.new(1_700_000_000_000)
    #   client = Millpond.connect("memory:", clock: clock)
    #   clock.advance(60)
    #   client.tasks("shop").time - 1_700_000_000_000 # => 60000
    def initialize(now_ms = nil)
      now_ms = now_ms.nil? ? Native::NOT_SET : Convert.size("now_ms", now_ms, Convert::INT64_MAX)
      @native = Call.handle(Native::Clock) { |out, error| Native.millpond_clock_new(now_ms, out, error) }
    end

    # The clock's current time, in milliseconds since the Unix epoch.
    #
    # @return [Integer]
    #
    # @example
    #   Millpond::ManualClock.new(1_700_000_000_000).now_ms # => 1700000000000
    def now_ms
      Call.number(:uint64) { |out, error| Native.millpond_clock_now(native, out, error) }
    end

    # Moves the clock forward, at most to the end of the year 9999, and wakes the calls that wait for what is now due.
    #
    # @param time [Numeric] by how much, in seconds
    # @return [nil]
    # @raise [InvalidArgumentError, TypeError] for an invalid time
    #
    # @example
    #   clock = Millpond::ManualClock.new(0)
    #   clock.advance(1.5)
    #   clock.now_ms # => 1500
    def advance(time)
      time = Convert.milliseconds("time", time)
      Call.check { |error| Native.millpond_clock_advance(native, time, error) }
      nil
    end
  end
end
