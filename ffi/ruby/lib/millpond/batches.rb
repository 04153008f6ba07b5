# frozen_string_literal: true

require "millpond/convert"

module Millpond
  # The loop of a consumer, for anything that has batches. The library does the loop; this asks
  # it for the next batch.
  #
  # @api private
  module Batches
    NO_WAIT = 0

    # Yields batches; the last batch stays reserved if the block does not return.
    #
    # @param encoding [Encoding] of members
    # @param open [Proc] makes the library's batches: takes the out-parameters for them and the
    #   error
    def self.each(encoding, open)
      batches = Call.handle(Native::IckBatches, &open)
      loop do
        batch = Convert.entries(encoding) do |out, error|
          Native.millpond_ick_batches_next(batches, out, error)
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
