# frozen_string_literal: true

require "millpond/endings"
require "millpond/modification"

module Millpond
  # The handler of a worker, and the callbacks and the log that problems are reported to.
  #
  # @api private
  class Handler
    # The names of a modification's lists, and of its methods.
    NAMES = [*Modification.new.rows.keys, *Modification.public_instance_methods(false)].map(&:to_s).freeze
    private_constant :NAMES

    # @return [SignalHandlers] the program's, while the worker runs
    attr_writer :signals

    def initialize(handler, on_error, on_event)
      raise ArgumentError, "a worker runs with a block or a handler" unless handler.respond_to?(:call)

      @handler = handler
      @on_error = on_error
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

    def tell(job, error, severity = Logger::ERROR, &line)
      guarded { @on_error ? @on_error.call(job, error) : Millpond.logger.add(severity, &line) }
    end

    def guarded
      yield
    rescue StandardError => error
      raise if @signals&.raised?(error)

      Millpond.logger.error("who is told of jobs failed: #{all_of(error)}")
    end

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

    # Whether all of its keys are names of a modification, or the key of a list is one.
    def entries?(said)
      lists = said.select { |_, value| value.is_a?(Array) || value.is_a?(Hash) }
      all = !said.empty? && said.each_key.all? { |name| NAMES.include?(name.to_s) }
      all || lists.each_key.any? { |name| NAMES.include?(name.to_s) }
    end

    def a(said)
      name = said.class.name
      "#{name.start_with?(/[AEIO]/) ? 'an' : 'a'} #{name}"
    end

    # The error with its backtrace.
    def all_of(error)
      utf8(error.full_message(highlight: false)).chomp
    rescue StandardError
      ["#{error.class}: #{message_of(error)}", *error.backtrace].map { |line| utf8(line) }.join("\n")
    end

    # The error's class may have no text for it, or its method may raise.
    def message_of(error)
      utf8(error.message)
    rescue StandardError => unreadable
      "its message cannot be read (#{unreadable.class})"
    end

    def utf8(text)
      text = String.new(text)
      text.force_encoding(Encoding::UTF_8) if text.encoding == Encoding::BINARY || text.encoding.dummy?
      text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub
    end
  end
end
