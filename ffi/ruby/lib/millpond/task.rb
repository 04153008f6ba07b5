# frozen_string_literal: true

require "millpond/headers"
require "millpond/json_text"
require "millpond/record"
require "millpond/task_arguments"

module Millpond
  class Task
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

    # What a modification needs to delete this task or to depend on it.
    #
    # @return [TaskId]
    #
    # @example
    #   Millpond::Task.new(id: "t", version: 3).handle.to_a # => ["t", 3]
    def handle
      TaskId.new(@id, @version).freeze
    end

    # A change of it, for {Modification#change}. What is not given stays; but without a time the task is released,
    # available at once.
    #
    # @param queue [String, nil] moves the task to this queue; it keeps its id
    # @param value [Object] the new value, which is anything that JSON has
    # @param json [String, nil] a JSON text in place of a value, which is kept byte for byte; nil removes the value
    # @param at_ms [Integer, Time, nil] from when on it can be claimed, in milliseconds since the Unix epoch. Until a
    #   time in the future the claimant that changes it holds it
    # @param delay [Numeric, nil] how long from now it can be claimed, by the engine's clock, in seconds. Until then
    #   the claimant that changes it holds it
    # @param attempt [Integer, nil] how often it was tried
    # @param err [String, nil] what went wrong
    # @param headers [Hash, Enumerable<Array(String, String)>, nil] replaces all headers by these, as
    #   {Modification#insert NewTask::header} has them; they stay as they are by default
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

  # A change of a task; made by {Task#change}. It does not change itself: the methods return others.
  class TaskChange
    # @api private
    def initialize(parts)
      @parts = { retry: false, retry_err: nil, quarantine_queue: nil, quarantine_attempts: 0, **parts }.freeze
      freeze
    end

    # One more attempt, with what went wrong in it on a line of its own behind what went wrong before.
    #
    # @param err [String] what went wrong
    # @return [TaskChange]
    # @raise [InvalidArgumentError] if it says so already
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

    # {#retry}, and with the attempt `max` a move to this queue; never for a `max` of 0 or a queue without a name.
    #
    # @param err [String] what went wrong
    # @param queue [String] the queue's name, 1 to 64 KiB
    # @param max [Integer] with which attempt the task moves; 0 is never
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
