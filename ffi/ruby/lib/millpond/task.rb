# frozen_string_literal: true

require "millpond/headers"
require "millpond/json_text"
require "millpond/record"
require "millpond/task_arguments"

module Millpond
  class Task
    # Its value, parsed from its JSON text on first use.
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

    # What a modification needs to delete this task or to depend on it.
    #
    # @return [TaskId]
    #
    # @example
    #   Millpond::Task.new(id: "t", version: 3).handle.to_a # => ["t", 3]
    def handle
      TaskId.new(@id, @version).freeze
    end

    # A change of the task, for {Modification#change}. Fields that are not given stay as they are, but without a time
    # the task is released: it is available immediately.
    #
    # @param queue [String, nil] moves the task to this queue; it keeps its id
    # @param value [Object] the new value, which is any JSON value
    # @param json [String, nil] a JSON text in place of a value, which is kept byte for byte; nil removes the value
    # @param at_ms [Integer, Time, nil] the time from which it can be claimed, in milliseconds since the Unix epoch.
    #   If that is in the future, the claimant that makes the change holds it until then
    # @param delay [Numeric, nil] how long until it can be claimed, by the engine's clock, in seconds. Until then the
    #   claimant that makes the change holds it
    # @param attempt [Integer, nil] how often it was tried
    # @param err [String, nil] what went wrong
    # @param headers [Hash, Enumerable<Array(String, String)>, nil] replaces all headers with these, in the form of
    #   {Modification#insert NewTask::header}; unchanged by default
    # @return [TaskChange]
    # @raise [InvalidArgumentError] for invalid values
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   task = store.insert("inbox", value: 7)
    #   moved, = store.modify(Millpond::Modification.new.change(task.change(queue: "outbox"))).changed
    #   [moved.id == task.id, moved.queue, moved.value, moved.version] # => [true, "outbox", 7, 1]
    def change(queue: nil, value: JsonText::NONE, json: JsonText::NONE, at_ms: nil, delay: nil, attempt: nil,
               err: nil, headers: nil)
      value = JsonText.of("value", value, json) { @json && Convert.bytes("json", @json) }
      queue = @queue if queue.nil?
      attempt = @attempt if attempt.nil?
      err = @err if err.nil?
      named = Convert.fields(Native::TaskChange, id: @id, queue: queue, err: err, version: @version,
                                                 attempt: attempt, at_ms: at_ms, delay: delay)
      named[:value] = value
      named[:headers] = Headers.piece(headers)
      TaskChange.new(named)
    end
  end

  # A change of a task; created by {Task#change}. It is immutable: its methods return new changes.
  class TaskChange
    # @api private
    def initialize(parts)
      @parts = { retry: false, retry_err: nil, quarantine_queue: nil, quarantine_attempts: 0, **parts }.freeze
      freeze
    end

    # Adds an attempt, and what went wrong in it as a new line after what went wrong before.
    #
    # @param err [String] what went wrong
    # @return [TaskChange]
    # @raise [InvalidArgumentError] if the change already records a failure
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   task = store.insert("inbox", attempt: 1, err: "no paper")
    #   retried = Millpond::Modification.new.change(task.change(delay: 60).retry("no ink"))
    #   store.modify(retried).changed.map { |now| [now.attempt, now.err] } # => [[2, "no paper\nno ink"]]
    def retry(err = "")
      retry_or_quarantine(err, "", 0)
    end

    # {#retry}, and a move to this queue when the attempt reaches `max`; never if `max` is 0 or the queue has no name.
    #
    # @param err [String] what went wrong
    # @param queue [String] the queue's name, 1 to 64 KiB
    # @param max [Integer] the attempt with which the task moves; 0 is never
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
    # @param err [String] what went wrong
    # @param queue [String] the queue's name, 1 to 64 KiB
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
      @parts
    end
  end
end
