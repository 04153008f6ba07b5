# frozen_string_literal: true

require "millpond/endings"
require "millpond/error_hook"
require "millpond/modification"

module Millpond
  # The handler of a worker, and the callbacks and the log that problems are reported to.
  #
  # @api private
  class Handler < ErrorHook
    NAMES = [*Modification.new.rows.keys, *Modification.public_instance_methods(false)].map(&:to_s).freeze
    private_constant :NAMES

    def initialize(handler, on_error, on_event)
      raise ArgumentError, "a worker runs with a block or a handler" unless handler.respond_to?(:call)

      super(on_error)
      @handler = handler
      @on_event = on_event
    end

    # How the job ends, according to the handler: an {Ending}, a {Modification}, an error, or nil
    # for done.
    def call(job)
      said = @handler.call(job)
      raise said if said.is_a?(Ending) || (said.is_a?(Class) && said < Ending)
      return said if said.is_a?(Modification)

      raise TypeError, "the handler returned #{a(said)}, which is no finished Modification" if unfinished?(said)
    rescue StandardError, ScriptError, SystemStackError => ending
      ending
    end

    # Reports an error of the handler.
    #
    # @return [String] the text that is stored as the reason
    def failed(job, error)
      # A handler that passes on the error of documents held by others has not failed.
      unless error.is_a?(DependencyError) && error.operation == "tasks.claim_docs"
        tell(job, error) { "the handler of #{job.name} failed: #{all_of(error)}" }
      end
      "#{error.class}: #{message_of(error)}"
    end

    # Passes on what a run reports.
    def reported(report)
      guarded { @on_event.call(report) } if @on_event
      return unless report.trouble?

      severity = report.kind == :back ? Logger::INFO : Logger::ERROR
      tell(report.job, report.error || InternalError.new(report.message), severity) { report.message }
    end

    private

    # Whether the value was plainly meant to become a modification, or its work is still in
    # progress.
    def unfinished?(said)
      case said
      when Hash then entries?(said)
      when Array then !said.empty? && said.all? { |one| one.is_a?(TaskChange) || one.is_a?(DocChange) }
      when Thread then said.alive?
      when TaskChange, DocChange, Enumerator, Fiber then true
      end
    end

    # Whether all of its keys are names of a modification's lists or methods, or the key of a list is one.
    def entries?(said)
      lists = said.select { |_, value| value.is_a?(Array) || value.is_a?(Hash) }
      all = !said.empty? && said.each_key.all? { |name| NAMES.include?(name.to_s) }
      all || lists.each_key.any? { |name| NAMES.include?(name.to_s) }
    end

    def a(said)
      name = said.class.name
      "#{name.start_with?(/[AEIO]/) ? 'an' : 'a'} #{name}"
    end
  end
end
