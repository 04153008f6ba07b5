# frozen_string_literal: true


module Millpond
  # What tasks and documents have in common, as the store holds them. Two are equal if all of their
  # parts are equal.
  module Record
    # Its JSON text, byte for byte as written.
    #
    # @return [String, nil] nil if it has none, or if it was left out
    attr_reader :json

    # All parts, by name; the JSON text is `json`.
    #
    # @return [Hash]
    #
    # @example
    #   Millpond::Task.new(id: "t", json: "7").to_h[:json] # => "7"
    def to_h
      self.class::PARTS.to_h { |part| [part, public_send(part)] }
    end

    # Whether the other one has the same parts.
    #
    # @param other [Object]
    # @return [Boolean]
    #
    # @example
    #   Millpond::Task.new(id: "t", version: 1) == Millpond::Task.new(id: "t", version: 1) # => true
    #   Millpond::Task.new(id: "t", version: 1) == Millpond::Task.new(id: "t", version: 2) # => false
    def ==(other)
      other.instance_of?(self.class) && to_h == other.to_h
    end
    alias eql? ==

    # @api private
    def hash
      to_h.hash
    end

    private

    # The value of the JSON text, which is parsed on first use.
    def parsed
      @parsed = JsonText.parse(@json) unless defined?(@parsed)
      @parsed
    end
  end
end

require "millpond/generated/records"
