# frozen_string_literal: true

require "timeout"
require "millpond/native"

module Millpond
  # What every exception of Millpond is, so that `rescue Millpond::Error` catches all of them. There
  # is one class for each kind of error, with a code and a name that are the same in every language
  # Millpond has; where Ruby has a class of its own that fits, it is an ancestor.
  #
  # @example
  #   begin
  #     Millpond.connect("memory:").ick("files").add([[Float::NAN, "a.txt"]])
  #   rescue Millpond::Error => error
  #     [error.class, error.code, error.name, error.operation, error.retry]
  #   end # => [Millpond::InvalidArgumentError, 1, "INVALID_ARGUMENT", "ick.add", :never]
  module Error
    # @return [String] the operation that failed, such as "ick.add"; empty if there was none
    attr_reader :operation

    # For tests of programs: the library makes its errors itself.
    #
    # @param message [String, nil] one line for people
    # @param operation [String] the operation that failed
    # @example
    #   Millpond::TimeoutError.new("no answer", "ick.add").operation # => "ick.add"
    def initialize(message = nil, operation = "")
      super(message)
      @operation = operation
    end

    # @return [Integer] the stable number of the kind of error, the same in every language
    # @example
    #   Millpond::TimeoutError.new.code # => 8
    def code
      self.class::CODE
    end

    # @return [String] the stable name of the kind of error, the same in every language
    # @example
    #   Millpond::TimeoutError.new.name # => "TIMEOUT"
    def name
      self.class::NAME
    end

    # Whether the same call can help.
    #
    # @return [Symbol] `:never`, not before something changes; `:later`, nothing was done;
    #   `:unknown`, it may have been done, so check before you repeat it
    # @example
    #   Millpond::ConnectionFailedError.new.retry # => :later
    def retry
      self.class::RETRY
    end
  end
end

require "millpond/generated/errors"

module Millpond
  # The classes by their codes.
  #
  # @api private
  ERROR_CLASSES = ERRORS.to_h { |kind| [kind::CODE, kind] }.freeze
end
