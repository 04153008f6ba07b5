# frozen_string_literal: true

module Millpond
  # What a handler of a worker can raise or return to say how its job ends: {Retry}, {Move}, {Reject} or
  # {Release}.
  module Ending
    # @return [String] the reason
    attr_reader :err

    # @return [Numeric, nil] the delay in seconds; nil for the default
    attr_reader :delay
  end

  # Tries the job again, for this reason.
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.insert("inbox", value: 7)
  #   store.worker("inbox").drain { raise Millpond::Retry.new("no paper", delay: 60) }
  #   store.list("inbox").tasks.map { |task| [task.attempt, task.err] } # => [[1, "no paper"]]
  class Retry < StandardError
    include Ending

    # @param err [String] the reason
    # @param delay [Numeric, nil] the delay in seconds, instead of the worker's `backoff`
    # @example
    #   Millpond::Retry.new("no paper", delay: 60).delay # => 60
    def initialize(err = "", delay: nil)
      super(err)
      @err = err
      @delay = delay
    end
  end

  # Moves the task to this queue, for this reason.
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.insert("inbox", value: 7)
  #   store.worker("inbox").drain { raise Millpond::Move.new("by hand", "no order") }
  #   store.claim("by hand").err # => "no order"
  class Move < StandardError
    include Ending

    # @return [String] the queue to move the task to
    attr_reader :queue

    # @param queue [String] the queue to move the task to
    # @param err [String] the reason
    # @example
    #   Millpond::Move.new("by hand", "no order").queue # => "by hand"
    def initialize(queue, err = "")
      super(err)
      @queue = queue
      @err = err
    end
  end

  # Puts the job aside immediately, for this reason: another attempt would not help.
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.insert("inbox", value: 7)
  #   store.worker("inbox").drain { raise Millpond::Reject, "no order" }
  #   store.list("inbox/err").tasks.map(&:err) # => ["rejected: no order"]
  class Reject < StandardError
    include Ending

    # @param err [String] the reason
    # @example
    #   Millpond::Reject.new("no order").err # => "no order"
    def initialize(err = "")
      super
      @err = err
    end
  end

  # Gives the job back for another worker, without counting an attempt; see {Job#release}.
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.insert("inbox", value: 7)
  #   store.worker("inbox").drain { raise Millpond::Release.new(delay: 60) }
  #   store.list("inbox").tasks.map(&:attempt) # => [0]
  class Release < StandardError
    include Ending

    # @param delay [Numeric, nil] how many seconds until it is available again; nil for a short random time
    # @example
    #   Millpond::Release.new(delay: 60).delay # => 60
    def initialize(delay: nil)
      super()
      @delay = delay
    end
  end
end
