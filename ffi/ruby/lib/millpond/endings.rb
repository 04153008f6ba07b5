# frozen_string_literal: true

module Millpond
  # What a handler of a worker raises or returns to say how its job ends: {Retry}, {Move}, {Reject} or {Release}.
  module Ending
    # @return [String] why
    attr_reader :err

    # @return [Numeric, nil] after how many seconds; nil for what the worker says
    attr_reader :delay
  end

  # Try the job again, for this reason.
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.insert("inbox", value: 7)
  #   store.worker("inbox").drain { raise Millpond::Retry.new("no paper", delay: 60) }
  #   store.list("inbox").tasks.map { |task| [task.attempt, task.err] } # => [[1, "no paper"]]
  class Retry < StandardError
    include Ending

    # @param err [String] why
    # @param delay [Numeric, nil] after how many seconds, instead of what the worker's `backoff` says
    # @example
    #   Millpond::Retry.new("no paper", delay: 60).delay # => 60
    def initialize(err = "", delay: nil)
      super(err)
      @err = err
      @delay = delay
    end
  end

  # Move the task to this queue, for this reason.
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.insert("inbox", value: 7)
  #   store.worker("inbox").drain { raise Millpond::Move.new("by hand", "no order") }
  #   store.claim("by hand").err # => "no order"
  class Move < StandardError
    include Ending

    # @return [String] where to
    attr_reader :queue

    # @param queue [String] where to
    # @param err [String] why
    # @example
    #   Millpond::Move.new("by hand", "no order").queue # => "by hand"
    def initialize(queue, err = "")
      super(err)
      @queue = queue
      @err = err
    end
  end

  # Put the job aside at once, for this reason: no other attempt would do better.
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.insert("inbox", value: 7)
  #   store.worker("inbox").drain { raise Millpond::Reject, "no order" }
  #   store.list("inbox/err").tasks.map(&:err) # => ["rejected: no order"]
  class Reject < StandardError
    include Ending

    # @param err [String] why
    # @example
    #   Millpond::Reject.new("no order").err # => "no order"
    def initialize(err = "")
      super
      @err = err
    end
  end

  # Give the job back for another worker, without counting an attempt; see {Job#release}.
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.insert("inbox", value: 7)
  #   store.worker("inbox").drain { raise Millpond::Release.new(delay: 60) }
  #   store.list("inbox").tasks.map(&:attempt) # => [0]
  class Release < StandardError
    include Ending

    # @param delay [Numeric, nil] after how many seconds it is available again; nil for a short random time
    # @example
    #   Millpond::Release.new(delay: 60).delay # => 60
    def initialize(delay: nil)
      super()
      @delay = delay
    end
  end
end
