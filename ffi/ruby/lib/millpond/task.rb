# frozen_string_literal: true

require "millpond/record"

module Millpond
  # A task as the store holds it. What {TaskStore} returns are copies: they stay as they are.
  #
  # `at_ms` has two uses: a task is available from that time on, and a claim moves it to the end of the
  # lease. `id` and `version` are an optimistic lock: each claim, renewal and change adds 1 to
  # `version`, and a modification with a stale version is refused.
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.insert("inbox", value: { "order" => 7 })
  #   task = store.claim("inbox")
  #   [task.queue, task.value["order"], task.version, task.claims] # => ["inbox", 7, 1, 1]
  class Task
    include Record

    # @api private
    PARTS = %i[id version queue at_ms created_ms modified_ms claimant claims attempt err json priority
               expires_ms].freeze

    # @return [String] unique in the store, over all queues
    attr_reader :id

    # @return [Integer] from 0; 1 more with each claim, renewal and change
    attr_reader :version

    # @return [String] the queue that it is in
    attr_reader :queue

    # @return [Integer] from when on it can be claimed, in milliseconds since the Unix epoch
    attr_reader :at_ms

    # @return [Integer] when it was inserted
    attr_reader :created_ms

    # @return [Integer] when it was inserted, claimed, renewed or changed last
    attr_reader :modified_ms

    # @return [String] the claimant that holds it until `at_ms`, or that set `at_ms`; empty if there is
    #   none
    attr_reader :claimant

    # @return [Integer] how often it was claimed; renewals do not count
    attr_reader :claims

    # @return [Integer] how often it was tried, as its workers recorded
    attr_reader :attempt

    # @return [String] what went wrong, as its workers recorded
    attr_reader :err

    # @return [Integer] 0 to 9: of the available tasks of a queue those with the highest are claimed
    #   first
    attr_reader :priority

    # @return [Integer, nil] when it is deleted, leased or not; nil for never
    attr_reader :expires_ms

    # For tests of programs, and for tasks of which a program has kept what {#change} takes: stores make
    # their tasks themselves.
    #
    # @param id [String]
    # @param version [Integer]
    # @param queue [String]
    # @param json [String, nil] its value, as a JSON text
    # @param attempt [Integer]
    # @param err [String]
    # @param others [Integer, String, nil] what only the store changes, as the attributes say
    # @example
    #   Millpond::Task.new(id: "t", json: '{"order":7}').value["order"] # => 7
    def initialize(id:, version: 0, queue: "", at_ms: 0, created_ms: 0, modified_ms: 0, claimant: "",
                   claims: 0, attempt: 0, err: "", json: nil, priority: 0, expires_ms: nil)
      @id = id
      @version = version
      @queue = queue
      @at_ms = at_ms
      @created_ms = created_ms
      @modified_ms = modified_ms
      @claimant = claimant
      @claims = claims
      @attempt = attempt
      @err = err
      @json = json
      @priority = priority
      @expires_ms = expires_ms
    end

    # Its value, of its JSON text, which is parsed when it is first used.
    #
    # @return [Object, nil] nil if it has none, which is not the same as `null`: see {#json}
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: [1, "é"]).value # => [1, "é"]
    #   [store.insert("inbox").json, store.insert("inbox", value: nil).json] # => [nil, "null"]
    def value
      parsed
    end

    # The task at its version, for a caller that keeps only this.
    #
    # @return [TaskId]
    #
    # @example
    #   Millpond::Task.new(id: "t", version: 3).handle.to_a # => ["t", 3]
    def handle
      TaskId.new(@id, @version).freeze
    end

    # A change of it, for {Modification#change}. What is not given stays; but without a time the
    # task is released, available at once.
    #
    # @param queue [String, nil] moves the task there; it keeps its id
    # @param value [Object] a value that JSON has
    # @param json [String, nil] a JSON text instead of a value; nil removes the value
    # @param at_ms [Integer, nil] from when on it can be claimed, in milliseconds since the Unix epoch;
    #   until a time in the future the claimant that changes it holds it
    # @param delay [Numeric, nil] in how many seconds it can be claimed, by the engine's clock; the same
    # @param attempt [Integer, nil] how often it was tried
    # @param err [String, nil] what went wrong
    # @return [TaskChange]
    # @raise [InvalidArgumentError, TypeError] for invalid values
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   task = store.insert("inbox", value: 7)
    #   moved, = store.modify(Millpond::Modification.new.change(task.change(queue: "outbox"))).changed
    #   [moved.id == task.id, moved.queue, moved.value, moved.version] # => [true, "outbox", 7, 1]
    def change(queue: nil, value: JsonText::NONE, json: JsonText::NONE, at_ms: nil, delay: nil, attempt: nil,
               err: nil)
      at_ms, delay_ms = TaskArguments.time(at_ms, delay)
      TaskChange.new(
        id: Convert.bytes("id", @id),
        queue: Convert.bytes("queue", queue.nil? ? @queue : queue),
        value: JsonText.of("value", value, json) { @json && Convert.bytes("json", @json) },
        err: Convert.bytes("err", err.nil? ? @err : err),
        version: Convert.size("version", @version),
        attempt: Convert.size("attempt", attempt.nil? ? @attempt : attempt),
        at_ms: at_ms, delay_ms: delay_ms
      )
    end
  end

  # A change of a task; made by {Task#change}. It does not change itself: the methods return others.
  class TaskChange
    # @api private
    def initialize(parts)
      @parts = { retry: false, retry_err: nil, quarantine_queue: nil, quarantine_attempts: 0, **parts }.freeze
      freeze
    end

    # The same with one more attempt, and with what went wrong in it on a line of its own behind what
    # went wrong before.
    #
    # @param err [String]
    # @return [TaskChange]
    # @raise [InvalidArgumentError] if it says so already
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   task = store.insert("inbox", attempt: 1, err: "no paper")
    #   retried = Millpond::Modification.new.change(task.change(delay: 60).retry("no ink"))
    #   store.modify(retried).changed.map { |now| [now.attempt, now.err] } # => [[2, "no paper\nno ink"]]
    def retry(err = "")
      retry_or_quarantine(err, "", 0)
    end

    # {#retry}, and with the attempt `max` a move to this queue.
    #
    # @param err [String]
    # @param queue [String]
    # @param max [Integer] 0 for never
    # @return [TaskChange]
    # @raise (see #retry)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   task = store.insert("inbox", attempt: 1)
    #   last = task.change.retry_or_quarantine("no ink", "inbox/err", 2)
    #   store.modify(Millpond::Modification.new.change(last)).changed[0].queue # => "inbox/err"
    def retry_or_quarantine(err, queue, max)
      raise Convert.invalid("the change already records a failure") if @parts[:retry]

      TaskChange.new(@parts.merge(
        retry: true, retry_err: Convert.bytes("err", err),
        quarantine_queue: Convert.bytes("queue", queue), quarantine_attempts: Convert.size("max", max)
      ))
    end

    # {#retry}, and a move to this queue.
    #
    # @param err [String]
    # @param queue [String]
    # @return [TaskChange]
    # @raise (see #retry)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   task = store.insert("inbox")
    #   aside = Millpond::Modification.new.change(task.change.quarantine("no order", "inbox/err"))
    #   store.modify(aside).changed.map { |now| [now.queue, now.attempt] } # => [["inbox/err", 1]]
    def quarantine(err, queue)
      retry_or_quarantine(err, queue, 1)
    end

    # @api private
    def row
      @parts.values_at(:id, :queue, :value, :err, :version, :attempt, :at_ms, :delay_ms, :retry, :retry_err,
                       :quarantine_queue, :quarantine_attempts)
    end
  end
end
