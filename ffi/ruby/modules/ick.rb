# frozen_string_literal: true

require "millpond/batches"
require "millpond/consumer_lease"
require "millpond/convert"
require "millpond/held"
require "millpond/values"

module Millpond
  # core
  # @example
  #   ick = Millpond.connect("memory:").ick("files")
  #   ick.add([[2, "b.txt"], [1, "a.txt"]])
  #   ick.reserve(10) # => [["a.txt", 1.0], ["b.txt", 2.0]]
  #   ick.add([[3, "a.txt"]]) # dirty again while it is being worked on
  #   ick.commit(["a.txt", "b.txt"])
  #   ick.reserve(10) # => [["a.txt", 3.0]]
  class Ick
    SETS = { producer: 1, consumer: 2 }.freeze
    private_constant :SETS

    # The Redis keys of an Ick in the contract's order, which is the KEYS of each of its scripts, for
    # use with your own connections. Makes no call.
    #
    # @param name [String] the name of an Ick
    # @return [Array<String>] the keys of the version flag, the producer set and the consumer set,
    #   as bytes
    # @raise [InvalidArgumentError] for a name of more than 64 KiB
    #
    # @example
    #   Millpond::Ick.keys("files")
    #   # => ["files", "files/ick/{files}/pset", "files/ick/{files}/cset"]
    def self.keys(name)
      name = Convert.sized("name", name)
      Convert.keys(Encoding::BINARY) { |out, error| Native.millpond_ick_keys(*name, out, error) }
    end

    # @return [String] the name
    attr_reader :name

    # @api private
    def initialize(client, name)
      @encoding = client.encoding
      @native = client.native
      @name = Convert.bytes("name", name)
      @length = @name.bytesize
    end

    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[2, "b.txt"], [1, "a.txt"]]).new # => 2
    #   ick.add([[1.5, "b.txt"]]).lowered # => 1
    #   ick.add(["c.txt"]) # with the current time as its score
    def add(pairs) = core

    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[2, "b.txt"]])
    #   ick.reserve(1) # => [["b.txt", 2.0]]
    #   ick.add([[1, "a.txt"]])
    #   ick.reserve(1) # => [["b.txt", 2.0]]
    #   ick.reserve(1, backwash: true) # => [["a.txt", 1.0]]
    def reserve(max, backwash: false) = core

    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"]])
    #   ick.reserve(1)
    #   ick.commit(["a.txt", "never reserved"]) # => 1
    def commit(members)
      members = Convert.members(members, Convert::LIMITS[:items])
      Call.number(:uint64) { |out, error| Native.millpond_ick_commit(@native, @name, @length, *members, out, error) }
    end

    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"], [2, "b.txt"]])
    #   ick.exchange(1) # => [["a.txt", 1.0]]
    #   ick.exchange(1, ["a.txt"]) # => [["b.txt", 2.0]]
    def exchange(max, members = [], backwash: false) = core

    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.stats # => nil
    #   ick.add([[1, "a.txt"]])
    #   ick.stats.total_size # => 1
    def stats
      found = Native::IckStats.initial
      Call.check { |error| Native.millpond_ick_stats_read(@native, @name, @length, found, error) }
      return unless found[:exists]

      @keys ||= Ick.keys(@name).map { |key| Convert.text(key, @encoding).freeze }
      Stats.of(found, @keys)
    end

    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"]])
    #   ick.peek(10) # => [["a.txt", 1.0]]
    #   ick.peek(10, set: :consumer) # => []
    def peek(max, set: :producer)
      max = Convert.size("max", max)
      number = SETS.fetch(set) do
        raise InvalidArgumentError, "set is #{set.inspect}; it has to be :producer or :consumer"
      end
      Convert.entries(@encoding) do |out, error|
        Native.millpond_ick_peek(@native, @name, @length, number, max, out, error)
      end
    end

    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"]])
    #   ick.delete # => 2
    def delete
      remove(false)
    end

    # @example
    #   Millpond.connect("memory:").ick("files").unlink # => 0
    def unlink
      remove(true)
    end

    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"]])
    #   ick.lease(ttl: 30) do |lease|
    #     [lease.reserve(10), ick.lease(ttl: 30)]
    #   end # => [[["a.txt", 1.0]], nil]
    def lease(ttl:, &block)
      time = Convert.some_milliseconds("ttl", ttl)
      native = Call.handle(Native::IckLease) do |out, error|
        Native.millpond_ick_lease_acquire(@native, @name, @length, time, out, error)
      end
      Held.hold(native && ConsumerLease.new(native, @encoding), &block)
    end

    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"], [2, "b.txt"], [3, "c.txt"]])
    #   ick.each_batch(2).map { |batch| batch.map(&:first) } # => [["a.txt", "b.txt"], ["c.txt"]]
    #   ick.stats.total_size # => 0
    #
    # @example A batch left by `break` is returned again.
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"]])
    #   ick.each_batch(100) { |batch| break }
    #   ick.reserve(100) # => [["a.txt", 1.0]]
    def each_batch(max, wait: nil, &block)
      size = Convert.size("max", max)
      wait_ms = Batches.wait_ms(wait)
      return enum_for(:each_batch, max, wait: wait) unless block

      open = lambda do |out, error|
        Native.millpond_ick_batches_new(@native, @name, @length, size, wait_ms, out, error)
      end
      Batches.each(@encoding, open, &block)
      self
    end

    private

    def remove(unlink)
      Call.number(:uint64) { |out, error| Native.millpond_ick_delete(@native, @name, @length, unlink, out, error) }
    end
  end
end
