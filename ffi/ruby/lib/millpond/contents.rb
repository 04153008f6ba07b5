# frozen_string_literal: true

require "millpond/convert"

module Millpond
  # Copies what a result holds. Its texts are copied in one step.
  #
  # @api private
  class Contents
    # @param data [Native::Structure] what is in the result
    # @param encoding [Encoding] of what programs pass as bytes
    def initialize(data, encoding)
      @data = data
      @encoding = encoding
      text = data[:text]
      @start = text.address
      @text = text.read_bytes(data[:text_length]).force_encoding(Encoding::UTF_8)
    end

    # @return [String, nil] the text at an address; nil for NULL
    def cut(address, length)
      @text.byteslice(address - @start, length).freeze unless address.zero?
    end

    # @return [String, nil] the bytes at an address, in the client's encoding if they are valid in it; nil for NULL
    def bytes(address, length)
      Convert.text(@text.byteslice(address - @start, length), @encoding).freeze unless address.zero?
    end

    private

    # The structures that a field points to, each as a list of its numbers.
    def rows(field, count, kind, stride = nil)
      pointer = @data[field]
      return [] if pointer.null?

      kind.rows(pointer, count ? @data[count] : 1, stride ? @data[stride] : kind.size)
    end

    # The record that a field points to, as Records makes it.
    def one(field, kind, record)
      rows(field, nil, kind).map { |row| Records.public_send(record, row, self) }.first
    end
  end
end
