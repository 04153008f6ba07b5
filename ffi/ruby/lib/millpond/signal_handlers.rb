# frozen_string_literal: true

module Millpond
  # The program's traps while a worker runs. What one of them raises in the middle of a job is not a failure of that
  # job, but is raised to the caller of the worker. SIGALRM is left out, since alarms limit the time of jobs.
  #
  # @api private
  class SignalHandlers
    NAMES = %w[TERM INT HUP QUIT USR1 USR2].freeze
    STOPPING = %w[INT TERM].freeze
    private_constant :NAMES, :STOPPING

    # Lets SIGINT and SIGTERM stop what the block runs.
    #
    # @param wanted [Boolean, nil] whether they do so; nil is on the main thread alone
    # @param stop [#call] called at each of these signals
    def self.stopping(wanted, stop)
      before = {}
      wanted = Thread.current == Thread.main if wanted.nil?
      (wanted ? STOPPING : []).each { |name| before[name] = trap(name) { stop.call } }
      yield
    ensure
      Call.held_back { before.each { |name, handler| trap(name, handler) } }
    end

    # Whether this is the last error that a trap raised.
    def raised?(error)
      !error.nil? && error.equal?(@raised)
    end

    # Yields itself, and records what the traps raise during the block.
    def noting
      before = {}
      early = []
      (Thread.current == Thread.main ? NAMES : []).each do |name|
        handler = trap(name) { |number| before[name] ? call(before[name], number) : early << number }
        handler.respond_to?(:call) ? before[name] = handler : trap(name, handler)
      end
      # Signals that arrived before their handler was known.
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
