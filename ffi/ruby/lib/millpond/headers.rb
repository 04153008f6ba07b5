# frozen_string_literal: true

require "millpond/convert"

module Millpond
  # Task headers in one piece, as the library has them: names and values alternate, each after its length.
  #
  # @api private
  module Headers
    NONE = {}.freeze
    private_constant :NONE

    # @return [Hash{String => String}] the headers of the piece: names in UTF-8 and binary values
    def self.of(piece)
      return NONE if piece.empty?

      headers = {}
      at = 0
      while at < piece.bytesize
        name, value = Array.new(2) do
          length = piece.byteslice(at, 2).unpack1("n")
          piece.byteslice(at + 2, length).tap { at += 2 + length }
        end
        headers[name.freeze] = value.b.freeze
      end
      headers.freeze
    end

    # @return [String, nil] the piece; nil for nil
    def self.piece(headers)
      unless headers.nil? || headers.respond_to?(:each_with_index)
        raise Convert.wrong_type("headers", "a Hash", headers)
      end

      headers&.each_with_index&.map do |(name, value), index|
        [name, value].map.with_index do |text, part|
          text = Convert.bytes("headers[#{index}][#{part}]", text)
          # A length that does not fit exceeds the limit, and the library reports that.
          [[text.bytesize, 0xffff].min].pack("n") + text.b
        end.join
      end&.join
    end
  end
end
