# frozen_string_literal: true

require "millpond/batches"
require "millpond/consumer_lease"
require "millpond/convert"
require "millpond/values"

module Millpond
  # A dirty list with write-folding and two-phase commit, by its name; made by {Client#ick}.
  #
  # It is for sync pipelines, such as from a database to a search index: producers flag documents as dirty, one
  # consumer takes batches, works, and commits. A document that is dirtied again while it is worked on is processed
  # again, and one that is dirtied often does not move back in the order, since a member keeps the lowest of its
  # scores.
  #
  # Members are Strings: their bytes are what counts.
  #
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

    # The Redis keys of an Ick in the contract's order, which is the KEYS of each of its scripts:
    # for connections of your own. Makes no call.
    #
    # @param name [String] the name of an Ick
    # @return [Array<String>] the keys of the version flag, the producer set and the consumer set,
    #   as bytes
    # @raise [InvalidArgumentError] for more than 64 KiB
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
      @client = client
      @native = client.native
      @name = Convert.bytes("name", name)
      @length = @name.bytesize
    end

    # Flags members as dirty: each keeps the lower of its old and its new score. The score nil is the server's time in
    # seconds, with microseconds.
    #
    # After {ConnectionLostError} the members may or may not be flagged; adding them again is safe. Above 250,000
    # members it takes several steps, each atomic.
    #
    # @param pairs [Enumerable<Array(Numeric, String), Array(nil, String), String>] scores and members; a member
    #   without a score gets the current time as its score
    # @return [Added]
    # @raise [InvalidArgumentError] for a NaN, a member above 16 MiB or more than 1,000,000 members, before anything
    #   is sent
    # @raise [WrongTypeError, IncompatibleVersionError] if the keys hold something else
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[2, "b.txt"], [1, "a.txt"]]).new # => 2
    #   ick.add([[1.5, "b.txt"]]).lowered # => 1
    #   ick.add(["c.txt"]) # with the current time as its score
    def add(pairs)
      pairs = Convert.pairs(pairs)
      Added.of { |out, error| Native.millpond_ick_add(@native, @name, @length, *pairs, out, error) }
    end

    # Moves the lowest members to the consumer set until that holds `max` and returns its first `max`, lowest first.
    # What was reserved before and not committed is part of the batch.
    #
    # At least once: a batch stays reserved until it is committed, whatever happens to its consumer.
    #
    # @param max [Integer] how many members at most, below 10^17
    # @param backwash [Boolean] whether to fold the whole consumer set back into the producer set first
    # @return [Array<Array(String, Float)>]
    # @raise [InvalidArgumentError] for a size from 100,000,000,000,000,000 on
    # @raise [WrongTypeError, IncompatibleVersionError] if the keys hold something else
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[2, "b.txt"]])
    #   ick.reserve(1) # => [["b.txt", 2.0]]
    #   ick.add([[1, "a.txt"]])
    #   ick.reserve(1) # => [["b.txt", 2.0]]
    #   ick.reserve(1, backwash: true) # => [["a.txt", 1.0]]
    def reserve(max, backwash: false)
      max = Convert.size("max", max)
      entries { |out, error| Native.millpond_ick_reserve(@native, @name, @length, max, !!backwash, out, error) }
    end

    # Removes members that are done from the consumer set; returns how many were there. A member that was added again
    # meanwhile stays dirty.
    #
    # After {ConnectionLostError} or {TimeoutError} do not commit again, but reserve: what is returned is work to be
    # done. A second commit could take away a member that was dirtied and reserved since. Above 250,000 members it
    # takes several steps, each atomic.
    #
    # @param members [Enumerable<String>] members as they were reserved, each up to 16 MiB
    # @return [Integer]
    # @raise [InvalidArgumentError] for more than 1,000,000 members
    # @raise [WrongTypeError, IncompatibleVersionError] if the keys hold something else
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"]])
    #   ick.reserve(1)
    #   ick.commit(["a.txt", "never reserved"]) # => 1
    def commit(members)
      members = Convert.members(members, Convert::LIMITS[:items])
      Call.number(:uint64) { |out, error| Native.millpond_ick_commit(@native, @name, @length, *members, out, error) }
    end

    # Commits one batch and reserves the next in one step: one round trip a batch.
    #
    # As {#reserve} and {#commit}: after {ConnectionLostError} or {TimeoutError} go on with an exchange that commits
    # nothing.
    #
    # @param max [Integer] how many members at most, below 10^17
    # @param members [Enumerable<String>] members to commit, each up to 16 MiB
    # @param backwash [Boolean] whether to fold the whole consumer set back into the producer set first
    # @return [Array<Array(String, Float)>]
    # @raise (see #reserve)
    # @raise [InvalidArgumentError] for more than 250,000 members
    #
    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"], [2, "b.txt"]])
    #   ick.exchange(1) # => [["a.txt", 1.0]]
    #   ick.exchange(1, ["a.txt"]) # => [["b.txt", 2.0]]
    def exchange(max, members = [], backwash: false)
      max = Convert.size("max", max)
      members = Convert.members(members)
      entries do |out, error|
        Native.millpond_ick_exchange(@native, @name, @length, max, *members, !!backwash, out, error)
      end
    end

    # The sizes and score ranges of both sets, or nil if there is no such Ick.
    #
    # @return [Stats, nil]
    # @raise [WrongTypeError, IncompatibleVersionError] if the keys hold something else
    #
    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.stats # => nil
    #   ick.add([[1, "a.txt"]])
    #   ick.stats.total_size # => 1
    def stats
      found = Native::IckStats.initial
      Call.check { |error| Native.millpond_ick_stats_read(@native, @name, @length, found, error) }
      return unless found[:exists]

      @keys ||= Ick.keys(@name).map { |key| Convert.text(key, @client.encoding).freeze }
      Stats.of(found, @keys)
    end

    # The lowest members of one set; moves nothing.
    #
    # @param max [Integer] how many members at most, below 10^17
    # @param set [Symbol] `:producer` for what is flagged, `:consumer` for what is reserved
    # @return [Array<Array(String, Float)>]
    # @raise (see #reserve)
    #
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
      entries { |out, error| Native.millpond_ick_peek(@native, @name, @length, number, max, out, error) }
    end

    # Removes the Ick's three keys, whatever they hold: the way out of a broken Ick. Returns how many keys there were.
    #
    # @return [Integer]
    #
    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"]])
    #   ick.delete # => 2
    def delete
      remove(false)
    end

    # {#delete}, but Redis frees the memory in the background.
    #
    # @return [Integer]
    #
    # @example
    #   Millpond.connect("memory:").ick("files").unlink # => 0
    def unlink
      remove(true)
    end

    # Takes the consumer lease, which keeps two consumers from working on one batch by mistake. Returns nil if another
    # consumer holds it. A native thread renews it until it is released or dropped; if it is lost all the same (a
    # stopped process, a partition), the steps that go through it are refused.
    #
    # @param ttl [Numeric] how long the lease lasts without a renewal, in seconds
    # @yield [lease] releases the lease when the block ends, in the process that took it; not called if another
    #   consumer holds it
    # @return [ConsumerLease, nil] nil if another consumer holds it; with a block, what that returns
    # @raise [InvalidArgumentError] for a `ttl` under a millisecond or over a day
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"]])
    #   ick.lease(ttl: 30) do |lease|
    #     [lease.reserve(10), ick.lease(ttl: 30)]
    #   end # => [[["a.txt", 1.0]], nil]
    def lease(ttl:)
      time = Convert.some_milliseconds("ttl", ttl)
      native = Call.handle(Native::IckLease) do |out, error|
        Native.millpond_ick_lease_acquire(@native, @name, @length, time, out, error)
      end
      return if native.nil?

      lease = ConsumerLease.new(native, @client.encoding)
      return lease unless block_given?

      process = Process.pid
      begin
        yield lease
      ensure
        # The child of a fork inside of the block leaves it too, but the lease is its parent's.
        lease.release if Process.pid == process
      end
    end

    # The consumer's loop: batches of up to `max` members, each committed when the block returns, in the same round
    # trip that asks for the next. A loop that is left by an exception or by `break` leaves its batch reserved, and
    # the next reserve returns it again: at least once.
    #
    # @param max [Integer] how many members at most, below 10^17
    # @param wait [Numeric, nil] how long to wait when there is nothing to reserve, in seconds; without it the loop
    #   ends then; `Float::INFINITY` waits without limit
    # @yieldparam batch [Array<Array(String, Float)>] members and scores, lowest first
    # @return [self] or, without a block, an Enumerator
    # @raise (see #exchange)
    # @raise [CancelledError] for an interrupt that `Thread.handle_interrupt` holds back
    #
    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"], [2, "b.txt"], [3, "c.txt"]])
    #   ick.each_batch(2).map { |batch| batch.map(&:first) } # => [["a.txt", "b.txt"], ["c.txt"]]
    #   ick.stats.total_size # => 0
    #
    # @example What is left by `break` comes again.
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
      Batches.each(@client.encoding, open, &block)
      self
    end

    private

    def entries(&call)
      Convert.entries(@client.encoding, &call)
    end

    def remove(unlink)
      Call.number(:uint64) { |out, error| Native.millpond_ick_delete(@native, @name, @length, unlink, out, error) }
    end
  end
end
