# frozen_string_literal: true

require "millpond/batches"
require "millpond/convert"

module Millpond
  # The right to consume an Ick, for as long as it is held; made by {Ick#lease}.
  #
  # A native thread renews it three times a lease, so a busy consumer keeps it. Steps through it carry its token:
  # once it is lost they fail with {LeaseLostError} and do nothing, so a consumer that was stopped for too long
  # cannot commit what another one works on.
  #
  # One thread at a time uses it. A lease that is not referenced any more is released in the background.
  #
  # @example
  #   ick = Millpond.connect("memory:").ick("files")
  #   ick.add([[1, "a.txt"]])
  #   ick.lease(ttl: 30) do |lease|
  #     lease.each_batch(100).to_a
  #   end # => [[["a.txt", 1.0]]]
  class ConsumerLease
    # @api private
    def initialize(native, encoding)
      @native = native
      @encoding = encoding
      @released = false
    end

    # Whether the lease is lost, because a renewal was refused or because none has succeeded for a whole term: stop
    # working on the batch. The next step through the lease would find out as well.
    #
    # @return [Boolean]
    #
    # @example
    #   lease = Millpond.connect("memory:").ick("files").lease(ttl: 30)
    #   lease.lost? # => false
    #   lease.release
    #   lease.lost? # => true
    def lost?
      Call.number(:bool) { |out, error| Native.millpond_ick_lease_is_lost(@native, out, error) }
    end

    # The token, for steps that are sent by hand.
    #
    # @return [String]
    #
    # @example
    #   Millpond.connect("memory:").ick("files").lease(ttl: 30).token.empty? # => false
    def token
      token = Native::Bytes.new
      Call.check { |error| Native.millpond_ick_lease_token(@native, token, error) }
      token[:data].read_bytes(token[:length])
    end

    # {Ick#reserve} for the holder alone.
    #
    # @param max [Integer] how many members at most, below 10^17
    # @return [Array<Array(String, Float)>]
    # @raise (see Ick#reserve)
    # @raise [LeaseLostError] if the lease is lost
    #
    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"]])
    #   ick.lease(ttl: 30) { |lease| lease.reserve(10) } # => [["a.txt", 1.0]]
    def reserve(max)
      max = Convert.size("max", max)
      Convert.entries(@encoding) { |out, error| Native.millpond_ick_lease_reserve(@native, max, out, error) }
    end

    # {Ick#commit} for the holder alone; one step.
    #
    # @param members [Enumerable<String>] members as they were reserved, each up to 16 MiB
    # @return [Integer]
    # @raise (see Ick#commit)
    # @raise [LeaseLostError] if the lease is lost
    #
    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"]])
    #   ick.lease(ttl: 30) do |lease|
    #     lease.reserve(10)
    #     lease.commit(["a.txt"])
    #   end # => 1
    def commit(members)
      members = Convert.members(members)
      Call.number(:uint64) { |out, error| Native.millpond_ick_lease_commit(@native, *members, out, error) }
    end

    # {Ick#exchange} for the holder alone.
    #
    # @param max [Integer] how many members at most, below 10^17
    # @param members [Enumerable<String>] members to commit, each up to 16 MiB
    # @return [Array<Array(String, Float)>]
    # @raise (see Ick#exchange)
    # @raise [LeaseLostError] if the lease is lost
    #
    # @example
    #   ick = Millpond.connect("memory:").ick("files")
    #   ick.add([[1, "a.txt"], [2, "b.txt"]])
    #   ick.lease(ttl: 30) do |lease|
    #     lease.exchange(1)
    #     lease.exchange(1, ["a.txt"])
    #   end # => [["b.txt", 2.0]]
    def exchange(max, members = [])
      max = Convert.size("max", max)
      members = Convert.members(members)
      Convert.entries(@encoding) { |out, error| Native.millpond_ick_lease_exchange(@native, max, *members, out, error) }
    end

    # {Ick#each_batch} for the holder alone.
    #
    # @param max [Integer] how many members at most, below 10^17
    # @param wait [Numeric, nil] how long to wait when there is nothing to reserve, in seconds; without it the loop
    #   ends then; `Float::INFINITY` waits without limit
    # @yieldparam batch [Array<Array(String, Float)>] members and scores, lowest first
    # @return [self] or, without a block, an Enumerator
    # @raise [LeaseLostError] if the lease is lost
    # @raise (see Ick#each_batch)
    # @raise [CancelledError] for an interrupt that `Thread.handle_interrupt` holds back
    #
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

    # Gives the lease back, so that another consumer can take it at once. Returns false if it was lost before. The
    # child of a fork has only a copy: it gives nothing back, and this returns false.
    #
    # @return [Boolean]
    #
    # @example
    #   lease = Millpond.connect("memory:").ick("files").lease(ttl: 30)
    #   lease.release # => true
    #   lease.release # => false
    def release
      return false if @released

      was_held = Call.number(:bool) { |out, error| Native.millpond_ick_lease_release(@native, out, error) }
      @released = true
      was_held
    end
  end
end
