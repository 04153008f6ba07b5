# frozen_string_literal: true

require "millpond/endings"
require "millpond/error_hook"
require "millpond/modification"

module Millpond
  # The handler of a worker, and the callbacks and the log that problems are reported to.
  #
  # @api private
  class Handler < ErrorHook
    VERB = "(?:insert|put|change|delete|depend)"
    # The key of a Hash that was meant to be a modification, by its letters.
    SCALARS = [NilClass, TrueClass, FalseClass, Numeric, String, Symbol].freeze
    KEY = /\A(?:insert|change|delete|depend|doc#{VERB}|#{VERB}doc|modification)s?\z/.freeze
    private_constant :SCALARS, :VERB, :KEY

    def initialize(handler, on_error, on_event)
      raise ArgumentError, "a worker runs with a block or a handler" unless handler.respond_to?(:call)

      super(on_error)
      @handler = handler
      @on_event = on_event
      # The errors of last attempts, by the names of their jobs.
      @causes = {}
    end

    # How the job ends, according to the handler: an {Ending}, a {Modification}, an error, or nil
    # for done.
    def call(job)
      said = @handler.call(job)
      raise said if said.is_a?(Ending) || (said.is_a?(Class) && said < Ending)

      fault = fault(said, without_modification(job))
      raise TypeError, "the handler returned #{fault}" if fault

      said if said.is_a?(Modification)
    rescue StandardError, ScriptError, SystemStackError => ending
      ending
    end

    # Reports an error of the handler. That of a last attempt waits for the report that the job was put aside, of which
    # it is the cause.
    #
    # @return [String] the text that is stored as the reason
    def failed(job, error)
      # A handler that passes on the error of documents held by others has not failed.
      unless error.is_a?(DependencyError) && error.operation == "tasks.claim_docs"
        job.last_attempt? ? put_aside(job, error) : tell_failure(job, error)
      end
      "#{error.class}: #{message_of(error)}"
    end

    # The error that put a job aside, if its report comes.
    def put_aside(job, error)
      @causes[job.name] = [job, error]
    end

    # Passes on what a run reports.
    def reported(report)
      guarded { @on_event.call(report) } if @on_event
      return unless report.trouble?

      _, cause = @causes.delete(report.job.name) if report.kind == :dead && report.job
      severity = report.kind == :back ? Logger::INFO : Logger::ERROR
      tell(report.job, caused_by(report.error, cause), severity) do
        [report.message, *(all_of(cause) if cause && !cause.is_a?(Ending))].join("\n")
      end
    end

    # Reports the errors that put no job aside in the end. The run is over.
    def close
      @causes.delete_if do |_, (job, error)|
        tell_failure(job, error) unless error.is_a?(Ending)
        true
      end
    end

    private

    def tell_failure(job, error)
      tell(job, error) { "the handler of #{job.name} failed: #{all_of(error)}" }
    end

    # The error with this cause, which Ruby sets when it is raised.
    def caused_by(error, cause)
      return error unless cause

      begin
        raise error, cause: cause
      rescue Error
        error
      end
    end

    # What ends without a modification; nil for a task.
    def without_modification(job)
      case job
      when ShuffleJob then "a message"
      when EventJob then "an event"
      end
    end

    # What is wrong with the value; nil if it ends the job, or is a result, which is dropped.
    def fault(said, without)
      return ("a modification, and #{without} ends without one" if without) if said.is_a?(Modification)
      return "#{a(said)}, which is no finished Modification" if unfinished?(said)

      meant = meant(said)
      return unless meant
      return "#{meant}, and #{without} ends without a modification: return nil" if without

      "#{meant}, which is no finished Modification: return a Millpond::Modification, or nil"
    end

    # Whether it is a part of a modification, or its work is still in progress.
    def unfinished?(said)
      case said
      when Thread then said.alive?
      when TaskChange, DocChange, Enumerator, Fiber then true
      end
    end

    # The value in words, if it was plainly meant to become a modification.
    def meant(said)
      case said
      when Hash then with(entry(said) || (said.first if said.each_value.all?(Array)))
      when Array
        part = said.lazy.filter_map { |one| part(one) }.first
        "an Array with #{part}" if part
      end
    end

    def part(one)
      case one
      when Hash then with(entry(one))
      when Modification, TaskChange, DocChange then a(one)
      end
    end

    # The first entry whose key is like one of a modification. The number of rows that a database changed is a result.
    def entry(hash)
      hash.find do |key, value|
        SCALARS.none? { |type| value.is_a?(type) } && utf8(key.to_s).downcase.gsub(/[^[:alpha:]]/, "").match?(KEY)
      end
    end

    def with(entry)
      "a Hash with the key #{utf8(entry[0].to_s).inspect}" if entry
    end

    def a(said)
      name = said.class.name
      "#{name.start_with?(/[AEIO]/) ? 'an' : 'a'} #{name}"
    end
  end
end
