# frozen_string_literal: true

require "millpond/call"

module Millpond
  # What is held until it is released: the lease of an Ick, and the lock of a field.
  #
  # @api private
  module Held
    # Returns what was taken; with a block, yields it and releases it when the block ends. What another holder has is
    # nil, and not yielded.
    #
    # @param held [Object, nil] of a class that includes this
    def self.hold(held)
      return held if held.nil? || !block_given?

      process = Process.pid
      begin
        yield held
      ensure
        # The child of a fork inside the block leaves the block too, but what it has is its parent's.
        held.release if Process.pid == process
      end
    end

    private

    # Makes the call that releases it, unless that was done before.
    #
    # @yield the out-parameters for whether it was held, and for the error
    # @return [Boolean] whether it was held
    def release_once(&call)
      return false if @released

      was_held = Call.number(:bool, &call)
      @released = true
      was_held
    end
  end
end
