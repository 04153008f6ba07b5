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

    # Lets SIGINT and SIGTERM stop what the block runs. The program's own traps are called too; what one of them raises
    # is raised after the block, since a stop lets jobs end.
    #
    # @param wanted [Boolean, nil] whether they do so; nil is on the main thread alone
    # @param stop [#call] called at each of these signals
    def self.stopping(wanted, stop, &block)
      raised = nil
      both = lambda do |handler, number|
        stop.call
        begin
          handler.call(number) if handler.respond_to?(:call)
        rescue Exception => error
          raised ||= error
        end
      end
      wanted = Thread.current == Thread.main if wanted.nil?
      trapping(wanted ? STOPPING : [], both, &block)
    ensure
      raise raised if raised
    end

    # Passes signals to `call` during the block, with the handler that was there before. A trap that the program sets
    # during the block stays.
    #
    # @param only_handled [Boolean] leaves out signals for which the program has no trap
    def self.trapping(names, call, only_handled: false)
      before = {}
      ours = {}
      early = []
      names.each do |name|
        ours[name] = ->(number) { before.key?(name) ? call.call(before[name], number) : early << number }
        handler = trap(name, ours[name])
        only_handled && !handler.respond_to?(:call) ? trap(name, handler) : before[name] = handler
      end
      # Signals that arrived before their handler was known.
      early.each { |number| Process.kill(number, Process.pid) }
      yield
    ensure
      Call.held_back do
        before.each do |name, handler|
          last = trap(name, handler)
          trap(name, last) unless last.equal?(ours[name])
        end
      end
    end

    # Whether this is the last error that a trap raised.
    def raised?(error)
      !error.nil? && error.equal?(@raised)
    end

    # Yields itself, and records what the traps raise during the block.
    def noting
      names = Thread.current == Thread.main ? NAMES : []
      SignalHandlers.trapping(names, method(:call), only_handled: true) { yield self }
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
