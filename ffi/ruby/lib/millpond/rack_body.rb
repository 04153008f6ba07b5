# frozen_string_literal: true

module Millpond
  # The body of a response, which makes a call when it has been closed.
  #
  # @api private
  class RackBody
    # With these a body may be taken apart, and closed, before its response is sent.
    HIDDEN = %i[to_ary to_str].freeze
    private_constant :HIDDEN

    def initialize(body, closed)
      @body = body
      @closed = closed
    end

    def close
      @body.close if @body.respond_to?(:close)
    ensure
      # Some servers close a body twice.
      closed = @closed
      @closed = nil
      closed&.call
    end

    def respond_to_missing?(name, include_all = false)
      !HIDDEN.include?(name) && @body.respond_to?(name, include_all)
    end

    def method_missing(name, *arguments, &block)
      HIDDEN.include?(name) ? super : @body.public_send(name, *arguments, &block)
    end
    ruby2_keywords :method_missing
  end
end
