# frozen_string_literal: true

require "millpond/endings"
require "millpond/modification"

module Millpond
  # How a job ends, for the library.
  #
  # @api private
  module Outcome
    # In the order of the library's numbers; a String is the reason of a failure.
    KINDS = [NilClass, Modification, Retry, Move, Release, String, Reject].freeze
    private_constant :KINDS

    # @param ending [Modification, Ending, String, nil]
    # @return [Native::TaskOutcome] which keeps alive what it points to
    def self.of(ending)
      outcome = Native::TaskOutcome.new
      outcome[:end] = KINDS.index { |kind| ending.is_a?(kind) }
      outcome[:modification] = TaskArguments.modification(ending) if ending.is_a?(Modification)
      texts(ending).each { |name, text| outcome.put_text(name, Convert.bytes(name, text)) }
      outcome[:delay_ms] = TaskArguments.milliseconds("delay", (ending.delay if ending.is_a?(Ending)))
      outcome
    end

    def self.texts(ending)
      case ending
      when String then { err: ending }
      when Move then { err: ending.err, queue: ending.queue }
      when Retry, Reject then { err: ending.err }
      else {}
      end
    end
    private_class_method :texts
  end
end
