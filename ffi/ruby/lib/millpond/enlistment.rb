# frozen_string_literal: true

require "millpond/slice"

module Millpond
  # What an enlistment begins with: a slice, or why there is none. Interrupts may come at any time, even between the
  # return of a call and the assignment of its result.
  #
  # @api private
  class Enlistment
    # @return [Slice, nil]
    attr_reader :slice

    # @return [Error, nil] the server's, if that is why there is no slice
    attr_reader :unavailable

    # @return [Duty] why there is no slice
    attr_reader :duty

    def initialize
      # The slice, the server's error, and whether to ask.
      @outs = FFI::MemoryPointer.new(:pointer, 3)
      @asks = false
    end

    # Decides, and asks the server if that is needed.
    def begin(recruiter, budget_ms)
      asks = @outs + (2 * @outs.type_size)
      @duty = RecruiterResults.duty(nil) do |duty, error|
        status = Native.millpond_recruiter_decide(recruiter, budget_ms, duty, @outs, asks, error)
        @asks = asks.get(:bool, 0)
        take(status)
      end
      ask(recruiter, budget_ms, waits: true) if @asks
    ensure
      # It was interrupted between the two. No other enlistment of the process asks before this one has.
      ask(recruiter, budget_ms, waits: false) if @asks
    end

    # Waits for the next slice of a loop; there is none when the loop is over.
    def next(slices)
      Call.check { |error| take(Native.millpond_recruiter_slices_next(slices, @outs, error)) }
    end

    # Aborts a slice that was not begun.
    def close
      Call.held_back { @slice&.leave }
    end

    private

    def ask(recruiter, budget_ms, waits:)
      @duty = RecruiterResults.duty(nil, waits: waits) do |duty, error|
        @asks = false
        unavailable = @outs + @outs.type_size
        take(Native.millpond_recruiter_ask(recruiter, budget_ms, duty, @outs, unavailable, error))
      end
    end

    # Takes what a call has returned. No interrupt comes here.
    def take(status)
      slice, unavailable = @outs.read_array_of_pointer(2)
      @slice = Slice.new(Native::RecruiterSlice.new(slice)) unless slice.null?
      unless unavailable.null?
        @unavailable = Call.error(unavailable)
        Native.millpond_error_free(unavailable)
      end
      status
    end
  end
end
