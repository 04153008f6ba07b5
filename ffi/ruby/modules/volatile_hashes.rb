# frozen_string_literal: true

require "millpond/convert"
require "millpond/volatile_hash"
require "millpond/volatile_results"

module Millpond
  # core
  # @example
  #   carts = Millpond.connect("memory:").volatile_hashes("carts")
  #   carts["ann"].set("book", "1", ttl: 60)
  #   carts["bob"].set("lamp", "2", ttl: 3_600)
  #   carts["ann"].len # => 1
  class VolatileHashes
    # @return [String] the name
    attr_reader :name

    # @return [Integer] the number of shards
    attr_reader :shards

    # @api private
    def initialize(client, name, shards)
      @encoding = client.encoding
      @name = Convert.bytes("name", name)
      @shards = Convert.small_size("shards", shards)
      @native = Call.handle(Native::VolatileHashes) do |out, error|
        Native.millpond_volatile_hashes_new(client.native, @name, @name.bytesize, @shards, out, error)
      end
    end

    # @example
    #   carts = Millpond.connect("memory:").volatile_hashes("carts")
    #   carts["ann"].name # => "ann"
    def [](base)
      VolatileHash.new(@encoding, "base", base) do |*places|
        Native.millpond_volatile_hashes_hash_new(@native, *places)
      end
    end

    # @example
    #   clock = Millpond::ManualClock.new
    #   carts = Millpond.connect("memory:", clock: clock).volatile_hashes("carts")
    #   carts["ann"].set("book", "1", ttl: 60)
    #   carts["bob"].set("lamp", "2", ttl: 3_600)
    #   clock.advance(60)
    #   carts.reap.fields # => 1
    def reap(limit: 5) = core
  end
end
