# frozen_string_literal: true

require "millpond/convert"

module Millpond
  # A clock that stands still until it is told to move, for tests: what is due in an hour is due when the clock was
  # advanced by an hour, and whoever waits for it is woken. An embedded engine is opened with it, as the `clock` of
  # {Millpond.connect}.
  #
  # It is the engine's clock of times, delays and leases. The rest goes by the system's time: how long a call waits, a
  # worker's timeout, and when a lease is renewed. So an advance by more than a lease ends it, as if its holder had
  # been stopped for that long.
  class ManualClock
    # @api private
    attr_reader :native

    # Makes a clock that stands at this time, or at the present. One behind the year 9999 stands at its end.
    #
    # @param now_ms [Integer, nil] in milliseconds since the Unix epoch
    # @raise [InvalidArgumentError, TypeError] for what is no such time
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

    # The time that it shows, in milliseconds since the Unix epoch.
    #
    # @return [Integer]
    #
    # @example
    #   Millpond::ManualClock.new(1_700_000_000_000).now_ms # => 1700000000000
    def now_ms
      Call.number(:uint64) { |out, error| Native.millpond_clock_now(native, out, error) }
    end

    # Moves the clock forward, at most to the end of the year 9999, and wakes those who wait for what is due then.
    #
    # @param time [Numeric] by how much, in seconds
    # @return [nil]
    # @raise [InvalidArgumentError, TypeError] for what is no such time
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
