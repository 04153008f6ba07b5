# frozen_string_literal: true

require "millpond/convert"

module Millpond
  # The consumer loop, for any object that has batches. The loop itself runs in the library; this
  # module asks it for the next batch.
  #
  # @api private
  module Batches
    NO_WAIT = 0

    # Yields batches; the last batch stays reserved if the block does not return.
    #
    # @param encoding [Encoding] of members
    # @param open [Proc] creates the library's loop: takes the out-parameters for the loop and the
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

    # @return [Integer] the wait as the library takes it, from seconds or nil
    def self.wait_ms(wait)
      wait.nil? ? NO_WAIT : Convert.milliseconds("wait", wait)
    end
  end
end
