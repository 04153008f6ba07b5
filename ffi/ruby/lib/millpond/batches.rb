# frozen_string_literal: true

require "millpond/convert"

module Millpond
  # The loop of a consumer, for whatever has batches. The library does the loop; this asks it for
  # the next batch.
  #
  # @api private
  module Batches
    NO_WAIT = -1

    # Yields batches; what the loop had reserved last stays so if the block does not return.
    #
    # @param encoding [Encoding] of members
    # @param open [Proc] makes the library's batches: takes where to put them, and the error
    def self.each(encoding, open)
      batches = Call.handle(Native::Batches, &open)
      loop do
        batch = Convert.entries(encoding) do |place, error|
          Native.millpond_batches_next(batches, place, error)
        end
        break if batch.nil?

        yield batch
      end
    ensure
      batches&.free
    end

    # @return [Integer] for the library, from seconds or nil
    def self.wait_ms(wait)
      wait.nil? ? NO_WAIT : Convert.milliseconds("wait", wait)
    end
  end
end
