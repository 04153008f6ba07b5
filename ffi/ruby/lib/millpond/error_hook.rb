# frozen_string_literal: true

module Millpond
  # What is called with the errors of handlers and of servers: a hook of the program's, or the log.
  #
  # @api private
  class ErrorHook
    # @return [SignalHandlers] the program's, while a worker runs
    attr_writer :signals

    # @param hook [#call, nil] called with the job and the error, instead of logging it
    def initialize(hook, signals = nil)
      @hook = hook
      @signals = signals
    end

    # @yieldreturn [String] the line for the log
    def tell(job, error, severity = Logger::ERROR, &line)
      guarded { @hook ? @hook.call(job, error) : Millpond.logger.add(severity, &line) }
    end

    # @return [String] the error with its backtrace
    def all_of(error)
      utf8(error.full_message(highlight: false)).chomp
    rescue StandardError
      ["#{error.class}: #{message_of(error)}", *error.backtrace].map { |line| utf8(line) }.join("\n")
    end

    private

    def guarded
      yield
    rescue StandardError => error
      raise if @signals&.raised?(error)

      Millpond.logger.error("who is told of jobs failed: #{all_of(error)}")
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
