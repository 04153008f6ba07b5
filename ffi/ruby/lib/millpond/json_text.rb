# frozen_string_literal: true

require "json"
require "millpond/convert"
require "millpond/json_fault"

module Millpond
  # Converts Ruby values to JSON texts and back: these are what task stores hold.
  #
  # @api private
  module JsonText
    # Marks a value that is not given, since nil is a value: null.
    NONE = Object.new.freeze

    # The text of an argument: of the value or the text that is given; at most one of them may be.
    #
    # @yieldreturn [String, nil] the text if neither is given
    # @return [String, nil] nil for none
    def self.of(argument, value, json)
      if NONE.equal?(value)
        return yield if NONE.equal?(json)

        return json && Convert.bytes("json", json)
      end
      raise Convert.invalid("#{argument} and json are both given") unless NONE.equal?(json)

      JsonFault.check(argument, value)
      JSON.generate(value).freeze
    rescue JSON::GeneratorError, JSON::NestingError, EncodingError => failure
      raise Convert.invalid("#{argument} is nothing that JSON has: #{failure.class}")
    end

    # @return [Object, nil] nil for no text
    def self.parse(text)
      text && JSON.parse(text)
    end
  end
end
