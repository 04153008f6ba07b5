# frozen_string_literal: true

module Millpond
  # The traps of a program while a worker runs: what one of them raises in the middle of a job is no failure of that
  # job, but is for whoever called the worker. SIGALRM is left out, as alarms limit the time of jobs.
  #
  # @api private
  class SignalHandlers
    NAMES = %w[TERM INT HUP QUIT USR1 USR2].freeze
    private_constant :NAMES

    # Whether one of them raised this, the last.
    def raised?(error)
      !error.nil? && error.equal?(@raised)
    end

    # Yields itself, and notes what they raise meanwhile.
    def noting
      before = {}
      early = []
      (Thread.current == Thread.main ? NAMES : []).each do |name|
        handler = trap(name) { |number| before[name] ? call(before[name], number) : early << number }
        handler.respond_to?(:call) ? before[name] = handler : trap(name, handler)
      end
      # Those that came before it was known who handles them.
      early.each { |number| Process.kill(number, Process.pid) }
      yield self
    ensure
      Call.held_back { before.each { |name, handler| trap(name, handler) } }
    end

    private

    def call(handler, number)
      handler.call(number)
    rescue Exception => error
      @raised = error
      raise
    end
  end
end
