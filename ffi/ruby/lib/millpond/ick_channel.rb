# frozen_string_literal: true

require "millpond/batches"
require "millpond/convert"
require "millpond/ick"

module Millpond
  # Several Icks that share the members of one dirty list, so that as many consumers can work at once; made by
  # {Client#ick_channel}. A member lives in the Ick numbered FNV-1a-64(member) mod n, named `<name>/<number>`.
  #
  # Resizing is safe at any time: producers and consumers go to the new number when they like, and consumers
  # {#draining also drain} the old one until it is empty. A member may be processed twice on the way; none is lost.
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

    # How many Icks consumers have to read, which is more while an earlier size is drained.
    #
    # @return [Integer]
    #
    # @example
    #   Millpond.connect("memory:").ick_channel("files", 4).readable # => 4
    def readable
      Call.number(:uint32) { |out, error| Native.millpond_ick_channel_readable(@native, out, error) }
    end

    # The same channel for a consumer that also reads the Icks of an earlier, larger number.
    #
    # @param earlier [Integer] how many Icks the channel had before
    # @return [IckChannel]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   Millpond.connect("memory:").ick_channel("files", 4).draining(8).readable # => 8
    def draining(earlier)
      IckChannel.new(@client, @name, @shards, Convert.small_size("earlier", earlier))
    end

    # The Ick with this number.
    #
    # @param number [Integer] which Ick, from 0
    # @return [Ick]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   Millpond.connect("memory:").ick_channel("files", 4).ick(3).name # => "files/3"
    def ick(number)
      number = Convert.small_size("number", number)
      names = Convert.keys(@name.encoding) do |out, error|
        Native.millpond_ick_channel_ick_name(@native, number, out, error)
      end
      @client.ick(names.first.force_encoding(@name.encoding))
    end

    # The number of the Ick in which this member lives.
    #
    # @param member [String] a member
    # @return [Integer]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   Millpond.connect("memory:").ick_channel("files", 4).ick_of("a.txt") # => 2
    def ick_of(member)
      member = Convert.sized("member", member)
      Call.number(:uint32) { |out, error| Native.millpond_ick_channel_ick_of(@native, *member, out, error) }
    end

    # Flags members as dirty, each in its Ick; see {Ick#add}.
    #
    # @param pairs [Enumerable<Array(Numeric, String), Array(nil, String), String>] scores and members; a member
    #   without a score gets the current time as its score
    # @return [Added]
    # @raise (see Ick#add)
    #
    # @example
    #   channel = Millpond.connect("memory:").ick_channel("files", 4)
    #   channel.add([[1, "a.txt"], [2, "b.txt"]]).new # => 2
    def add(pairs)
      pairs = Convert.pairs(pairs)
      Added.of { |out, error| Native.millpond_ick_channel_add(@native, *pairs, out, error) }
    end

    # The loop of a consumer of the Icks with these numbers: takes from each in turn.
    #
    # Everything else is as in {Ick#each_batch}.
    #
    # @param numbers [Enumerable<Integer>] which Icks, from 0; up to 65,536
    # @param max [Integer] how many members at most, below 10^17
    # @param wait [Numeric, nil] how long to wait when there is nothing to reserve, in seconds; without it the loop
    #   ends then; `Float::INFINITY` waits without limit
    # @yieldparam batch [Array<Array(String, Float)>] members and scores, lowest first
    # @return [self] or, without a block, an Enumerator
    # @raise (see Ick#each_batch)
    # @raise [InvalidArgumentError] for a number that the channel does not have, no number, or more than 65,536
    # @raise [CancelledError] for an interrupt that `Thread.handle_interrupt` holds back
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
        Native.millpond_ick_channel_batches_new(@native, list, count, size, wait_ms, out, error)
      end
      Batches.each(@client.encoding, open, &block)
      self
    end
  end
end
