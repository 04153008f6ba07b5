# frozen_string_literal: true

require "millpond/recruiter_results"

module Millpond
  # core
  # @example
  #   clock = Millpond::ManualClock.new
  #   recruiter = Millpond.connect("memory:", clock: clock).recruiter("site")
  #   recruiter.install("count", share: 1, budget: 0.5) do |slice|
  #     count = 0
  #     until slice.over?
  #       clock.advance(0.2) # the work
  #       count += 1
  #     end
  #     slice.more
  #     count
  #   end
  #   recruiter.enlist.took # => 0.6
  class Slice
    # @return [String] the id of the job
    attr_reader :job

    # @api private
    def initialize(native)
      @native = native
      @job = RecruiterResults.job(native)
      @ended = false
    end

    # @example
    #   recruiter = Millpond.connect("memory:").recruiter("site")
    #   recruiter.install("mail", share: 1, budget: 0.5) { |slice| puts slice.budget }
    #   recruiter.enlist(budget: 0.02).why # => :worked
    def budget = core

    # @example
    #   recruiter = Millpond.connect("memory:").recruiter("site")
    #   recruiter.install("mail", share: 1, budget: 20) { |slice| slice.remaining > 10 }
    #   recruiter.enlist.why # => :worked
    def remaining = core

    # @example
    #   recruiter = Millpond.connect("memory:").recruiter("site")
    #   recruiter.install("mail", share: 1, budget: 20) { |slice| !slice.over? }
    #   recruiter.enlist.why # => :worked
    def over? = core

    # @example
    #   clock = Millpond::ManualClock.new
    #   recruiter = Millpond.connect("memory:", clock: clock).recruiter("site")
    #   recruiter.install("mail", per_second: 2) { |slice| slice.fence > 0 }
    #   clock.advance(5)
    #   recruiter.enlist.why # => :worked
    def fence = core

    # @example
    #   recruiter = Millpond.connect("memory:").recruiter("site")
    #   recruiter.install("mail", share: 1) { |slice| !slice.lost? }
    #   recruiter.enlist.why # => :worked
    def lost? = core

    # @example
    #   mails = %w[ann bob]
    #   recruiter = Millpond.connect("memory:").recruiter("site")
    #   recruiter.install("mail", share: 1) do |slice|
    #     mails.pop
    #     slice.more unless mails.empty?
    #     1
    #   end
    #   recruiter.enlist.why # => :worked
    def more = core

    # @example
    #   recruiter = Millpond.connect("memory:").recruiter("site")
    #   recruiter.install("mail", share: 1) { |slice| slice.abort }
    #   recruiter.enlist.why # => :aborted
    def abort = core

    # Ends it. Only the first end counts, and in the child of a fork none, since the slice is its parent's.
    #
    # @param items [Integer, nil] how many items it worked on; nil if it failed
    # @return [Duty]
    #
    # @api private
    def finish(items)
      RecruiterResults.duty(@job) do |duty, error|
        @ended = true
        next Native.millpond_recruiter_slice_fail(@native, duty, error) if items.nil?

        Native.millpond_recruiter_slice_end(@native, items, duty, error)
      end
    end

    # @api private
    def ended?
      @ended
    end

    # Aborts it, unless it has ended.
    #
    # @api private
    def leave
      @native.free unless @ended
    end
  end
end
