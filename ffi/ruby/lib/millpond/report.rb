# frozen_string_literal: true

require "millpond/call"

module Millpond
  # What a worker reports; an `on_event` is called with each report.
  #
  # @!attribute [r] kind
  #   @return [Symbol] what happened: `:done`, `:retried`, `:released`, `:moved`, `:dead` (put aside, because it was
  #     rejected, tried too often, or ended its workers), `:refused` (its end was refused, so it is tried again),
  #     `:lost` (another worker may have it), `:away` (the server does not respond) or `:back`
  # @!attribute [r] task
  #   @return [Task, nil] the task that it concerns, as it was claimed; nil if it concerns the whole worker
  # @!attribute [r] shuffle_message
  #   @return [Message, nil] the message of a shuffle queue that it concerns
  # @!attribute [r] event
  #   @return [Event, nil] the event that it concerns, as it was received
  # @!attribute [r] error
  #   @return [Error, nil] the reason, if the library or the store gave one
  # @!attribute [r] message
  #   @return [String] a summary in one line, for a log
  # @!attribute [r] trouble
  #   @return [Boolean] whether it needs attention: it is logged by default
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.insert("inbox", id: "t")
  #   kinds = []
  #   store.worker("inbox").drain(on_event: ->(report) { kinds << [report.kind, report.task.id] }) { nil }
  #   kinds # => [[:done, "t"]]
  Report = Struct.new(:kind, :task, :shuffle_message, :event, :error, :message, :trouble)

  class Report
    alias trouble? trouble

    # @api private
    attr_accessor :job

    # @api private
    def self.of(data, job)
      error = Call.error(data[:error]) unless data[:error].null?
      message = Call.text(data[:message][:data].read_bytes(data[:message][:length]))
      kind = Native.millpond_report_kind_name(data[:kind]).to_sym
      found = [(job.task if job.is_a?(Job)), (job.message if job.is_a?(ShuffleJob)),
               (job.event if job.is_a?(EventJob))]
      new(kind, *found, error, message, data[:is_trouble]).tap { |report| report.job = job }.freeze
    end
  end
end
