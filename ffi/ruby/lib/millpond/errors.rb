# frozen_string_literal: true

require "timeout"
require "millpond/native"

module Millpond
  # The module that every Millpond exception includes, so that `rescue Millpond::Error` catches all
  # of them. Each kind of error has one class, with a code and a name that are the same in all of
  # Millpond's languages. If Ruby has a built-in class that fits, it is an ancestor.
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

    # For use in tests: the library creates its own errors.
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

    # Whether repeating the call can help.
    #
    # @return [Symbol] `:never`: not before something changes; `:later`: nothing was done;
    #   `:unknown`: the call may have been done, so check before you repeat it
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
