# frozen_string_literal: true

require "millpond/batches"
require "millpond/convert"
require "millpond/ick"

module Millpond
  # Several Icks that share the members of one dirty list, so that as many consumers can work at
  # once; made by {Client#ick_channel}. The Icks are named name/0, name/1 and so on; a member always
  # lives in the same one.
  #
  # Resizing is safe at any time: producers and consumers go to the new number when they like, and
  # consumers also read the Icks of the old one, by {#draining}, until they are empty. A member may
  # be processed twice on the way; none is lost.
  #
  # @example
  #   channel = Millpond.connect("memory:").ick_channel("files", 4)
  #   channel.add([[1, "a.txt"], [2, "b.txt"], [3, "c.txt"]]).new # => 3
  #   channel.each_batch(0...4, 100).sum(&:size) # => 3
  class IckChannel
    # @return [Integer] how many Icks members are spread over
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

    # How many Icks consumers have to read, more than that while an earlier size is drained.
    #
    # @return [Integer]
    #
    # @example
    #   Millpond.connect("memory:").ick_channel("files", 4).readable # => 4
    def readable
      Call.number(:uint32) { |out, error| Native.millpond_ick_channel_readable(@native, out, error) }
    end

    # The same channel for a consumer that also reads the Icks of an earlier, larger size.
    #
    # @param earlier [Integer] the earlier number of Icks
    # @return [IckChannel]
    # @raise [InvalidArgumentError, TypeError] for anything but a number of Icks
    #
    # @example
    #   Millpond.connect("memory:").ick_channel("files", 4).draining(8).readable # => 8
    def draining(earlier)
      IckChannel.new(@client, @name, @shards, Convert.small_size("earlier", earlier))
    end

    # The Ick with this number.
    #
    # @param number [Integer] from 0
    # @return [Ick]
    # @raise [InvalidArgumentError, TypeError] for an invalid number
    #
    # @example
    #   Millpond.connect("memory:").ick_channel("files", 4).ick(3).name # => "files/3"
    def ick(number)
      number = Convert.small_size("number", number)
      out = FFI::MemoryPointer.new(:pointer)
      Call.check { |error| Native.millpond_ick_channel_ick_name(@native, number, out, error) }
      @client.ick(Convert.keys(out.read_pointer).first.force_encoding(@name.encoding))
    ensure
      Native.millpond_keys_free(out.read_pointer) if out
    end

    # The number of the Ick in which this member lives.
    #
    # @param member [String]
    # @return [Integer] FNV-1a-64 of its bytes, modulo the number of Icks
    # @raise [TypeError] for anything but a String
    #
    # @example
    #   Millpond.connect("memory:").ick_channel("files", 4).ick_of("a.txt") # => 2
    def ick_of(member)
      member = Convert.bytes("member", member)
      Call.number(:uint32) do |out, error|
        Native.millpond_ick_channel_ick_of(@native, member, member.bytesize, out, error)
      end
    end

    # Flags members as dirty, each in its Ick; see {Ick#add}. One step an Ick: after an error some
    # may have their members already; adding all of them again is safe.
    #
    # @param pairs (see Ick#add)
    # @return (see Ick#add)
    # @raise (see Ick#add)
    #
    # @example
    #   channel = Millpond.connect("memory:").ick_channel("files", 4)
    #   channel.add([[1, "a.txt"], [2, "b.txt"]]).new # => 2
    def add(pairs)
      list, count = Convert.pairs(pairs)
      Added.of do |out, error|
        Native.millpond_ick_channel_add(@native, list, count, out, error)
      end
    end

    # The loop of a consumer of the Icks with these numbers: reserves from each in turn. Everything
    # else is as in {Ick#each_batch}.
    #
    # @param numbers [Enumerable<Integer>]
    # @param max [Integer] members
    # @param wait [Numeric, nil] as in {Ick#each_batch}
    # @yieldparam batch [Array<Array(String, Float)>] members and scores, lowest first
    # @return [self] or, without a block, an Enumerator
    # @raise [InvalidArgumentError] for a number that the channel does not have, or no number
    # @raise (see Ick#each_batch)
    #
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
        Native.millpond_ick_channel_batches(@native, list, count, size, wait_ms, out, error)
      end
      Batches.each(@client.encoding, open, &block)
      self
    end
  end
end
