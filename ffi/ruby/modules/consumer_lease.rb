# frozen_string_literal: true

require "millpond/batches"
require "millpond/convert"
require "millpond/held"

module Millpond
  # core
  # @example
  #   ick = Millpond.connect("memory:").ick("files")
  #   ick.add([[1, "a.txt"]])
  #   ick.lease(ttl: 30) do |lease|
  #     lease.each_batch(100).to_a
  #   end # => [[["a.txt", 1.0]]]
  class ConsumerLease
    include Held

    # @api private
    def initialize(native, encoding)
      @native = native
      @encoding = encoding
    end

    # @example
    #   lease = Millpond.connect("memory:").ick("files").lease(ttl: 30)
    #   lease.lost? # => false
    #   lease.release
    #   lease.lost? # => true
    def lost? = core

    # @example
    #   Millpond.connect("memory:").ick("files").lease(ttl: 30).token.empty? # => false
    def token
      token = Native::Bytes.new
      Call.check { |error| Native.millpond_ick_lease_token(@native, token, error) }
      token[:data].read_bytes(token[:length])
    end

    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"]])
    #   ick.lease(ttl: 30) { |lease| lease.reserve(10) } # => [["a.txt", 1.0]]
    def reserve(max) = core

    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"]])
    #   ick.lease(ttl: 30) do |lease|
    #     lease.reserve(10)
    #     lease.commit(["a.txt"])
    #   end # => 1
    def commit(members) = core

    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"], [2, "b.txt"]])
    #   ick.lease(ttl: 30) do |lease|
    #     lease.exchange(1)
    #     lease.exchange(1, ["a.txt"])
    #   end # => [["b.txt", 2.0]]
    def exchange(max, members = []) = core

    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"], [2, "b.txt"]])
    #   ick.lease(ttl: 30) { |lease| lease.each_batch(1).map(&:size) } # => [1, 1]
    def each_batch(max, wait: nil, &block)
      size = Convert.size("max", max)
      wait_ms = Batches.wait_ms(wait)
      return enum_for(:each_batch, max, wait: wait) unless block

      open = ->(out, error) { Native.millpond_ick_lease_batches_new(@native, size, wait_ms, out, error) }
      Batches.each(@encoding, open, &block)
      self
    end

    # @example
    #   lease = Millpond.connect("memory:").ick("files").lease(ttl: 30)
    #   lease.release # => true
    #   lease.release # => false
    def release
      release_once { |out, error| Native.millpond_ick_lease_release(@native, out, error) }
    end
  end
end
