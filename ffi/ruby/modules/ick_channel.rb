# frozen_string_literal: true

require "millpond/batches"
require "millpond/convert"
require "millpond/ick"

module Millpond
  # core
  # @example
  #   channel = Millpond.connect("memory:").ick_channel("files", 4)
  #   channel.add([[1, "a.txt"], [2, "b.txt"], [3, "c.txt"]]).new # => 3
  #   channel.each_batch(0...4, 100).sum(&:size) # => 3
  class IckChannel
    # @return [Integer] the number of Icks that the members are spread over
    attr_reader :shards

    # @api private
    def initialize(client, name, shards, earlier = 0)
      @client = client
      @name = Convert.bytes("name", name)
      @shards = shards
      @native = Call.handle(Native::IckChannel) do |out, error|
        Native.millpond_ick_channel_new(client.native, @name, @name.bytesize, shards, earlier, out, error)
      end
    end

    # @example
    #   Millpond.connect("memory:").ick_channel("files", 4).readable # => 4
    def readable = core

    # @example
    #   Millpond.connect("memory:").ick_channel("files", 4).draining(8).readable # => 8
    def draining(earlier)
      IckChannel.new(@client, @name, @shards, Convert.small_size("earlier", earlier))
    end

    # @example
    #   Millpond.connect("memory:").ick_channel("files", 4).ick(3).name # => "files/3"
    def ick(number)
      number = Convert.small_size("number", number)
      names = Convert.keys(@name.encoding) do |out, error|
        Native.millpond_ick_channel_ick_name(@native, number, out, error)
      end
      @client.ick(names.first.force_encoding(@name.encoding))
    end

    # @example
    #   Millpond.connect("memory:").ick_channel("files", 4).ick_of("a.txt") # => 2
    def ick_of(member) = core

    # @example
    #   channel = Millpond.connect("memory:").ick_channel("files", 4)
    #   channel.add([[1, "a.txt"], [2, "b.txt"]]).new # => 2
    def add(pairs) = core

    # @example
    #   channel = Millpond.connect("memory:").ick_channel("files", 2)
    #   channel.add([[1, "a.txt"], [2, "b.txt"]])
    #   channel.each_batch([0, 1], 100) { |batch| batch.each { |member, score| member } }
    #   channel.ick(0).stats.total_size # => 0
    def each_batch(numbers, max, wait: nil, &block)
      list, count = Convert.numbers(numbers)
      size = Convert.size("max", max)
      wait_ms = Batches.wait_ms(wait)
      return enum_for(:each_batch, numbers, max, wait: wait) unless block

      open = lambda do |out, error|
        Native.millpond_ick_channel_batches_new(@native, list, count, size, wait_ms, out, error)
      end
      Batches.each(@client.encoding, open, &block)
      self
    end
  end
end
