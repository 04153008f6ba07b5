# frozen_string_literal: true

require "millpond/run"
require "millpond/signal_handlers"

module Millpond
  # What a worker did, in jobs; returned by {Runnable#run} and {Runnable#drain}.
  #
  # @!attribute [r] done
  #   @return [Integer] were done
  # @!attribute [r] retried
  #   @return [Integer] failed, and are tried again later; those too whose end was refused
  # @!attribute [r] dead
  #   @return [Integer] were put aside, as they were rejected, tried too often, or ended their workers
  # @!attribute [r] others
  #   @return [Integer] were given back untried, moved to another queue, or lost
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   2.times { |number| store.insert("inbox", value: number) }
  #   store.worker("inbox").drain { |job| 1 / job.task.value }.to_h # => {:done=>1, :retried=>1, :dead=>0, :others=>0}
  JobCounts = Struct.new(:done, :retried, :dead, :others)

  # What every worker can do: run, drain and stop.
  #
  # The handler gets a job. A {Modification} that it returns happens in one step, with the job's own versions. The task
  # is deleted unless the modification changes it, and also after any other value: the job is done. It can raise or
  # return {Retry}, {Move}, {Reject} and {Release}; any other error is a failure with its class and message, and tried
  # again after the worker's `backoff`. So is what was plainly meant as more: a Hash with a modification's keys, a change that was not put into a
  # modification, a Thread that is still running. Nothing is done to a job that the handler ended itself.
  #
  # What ends a program or a thread, such as SystemExit, Thread#kill or a Timeout around the worker, and `break`, ends
  # the run: all jobs are given back, available at once, and threads that are still in a handler are killed. So does
  # whatever a `trap` of the program raises for SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1 or SIGUSR2: that is no failure
  # of the job that was running.
  #
  # `on_error` is called with the job, if there is one, and the error: that of a handler, or why a job was put aside,
  # could not end as its handler said, or was lost, and of a server that is away or back. By default that goes to
  # {Millpond.logger}. What `on_error` and `on_event` raise is logged.
  module Runnable
    SIGNALS = %w[INT TERM].freeze
    private_constant :SIGNALS

    # Works until it is {#stop stopped}, on `concurrency` threads, of which this is one, and returns what it did. A
    # server that is away is asked again until it is back.
    #
    # SIGTERM and Ctrl-C stop it with `stop_within`, a second one at once. What they did before is put back when it
    # returns.
    #
    # @param handler [#call, nil] instead of the block
    # @param on_error [#call, nil] is called with the job and the error, in place of a line in the log
    # @param on_event [#call, nil] is called with each {Report}, also of what went well: for metrics
    # @param stop_on_signals [Boolean, nil] whether SIGTERM and SIGINT stop it; by default on the main thread
    # @param stop_within [Numeric] how long a stop by a signal waits for running jobs, in seconds
    # @yieldparam job [Job, ShuffleJob, EventJob]
    # @return [JobCounts]
    # @raise [Error] what trying again cannot mend, such as {WrongTypeError} and {InvalidArgumentError}
    # @raise [CancelledError] for an interrupt that `Thread.handle_interrupt` holds back
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   worker = store.worker("inbox", concurrency: 4)
    #   worker.run do |job|
    #     worker.stop
    #     job.delete.insert("outbox", value: job.task.value * 6)
    #   end
    #   store.claim("outbox").value # => 42
    def run(handler = nil, on_error: nil, on_event: nil, stop_on_signals: nil, stop_within: 25, &block)
      Convert.milliseconds("stop_within", stop_within)
      stop_on_signals = Thread.current == Thread.main if stop_on_signals.nil?
      handler = Handler.new(handler || block, on_error, on_event)
      stopping(stop_on_signals ? SIGNALS : [], stop_within) do
        work_on(@concurrency, handler, drains: false, tells_all: !on_event.nil?)
      end
    end

    # Works on this thread until nothing is available, and says what happened. For tests, and for a program that cron
    # starts.
    #
    # @param handler [#call, nil] instead of the block
    # @param on_error [#call, nil] as for {#run}
    # @param on_event [#call, nil] as for {#run}
    # @yieldparam job [Job, ShuffleJob, EventJob]
    # @return [JobCounts]
    # @raise [Error] what ended it, also that a server is away
    # @raise (see #run)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").drain { |job| job.delete.insert("outbox", value: job.task.value * 6) }.done # => 1
    #   store.claim("outbox").value # => 42
    def drain(handler = nil, on_error: nil, on_event: nil, &block)
      work_on(1, Handler.new(handler || block, on_error, on_event), drains: true, tells_all: !on_event.nil?)
    end

    # Stops the runs: they take nothing more and wait for the jobs that are running. What still runs after this time
    # is given back, available at once; its handler finds that {Job#lost?}, and a run returns when its handlers have.
    # A second stop changes the time. A worker that was stopped stays so.
    #
    # From any thread, and from a handler of a signal.
    #
    # @param within [Numeric] how long to wait for jobs that are running, in seconds; 0 is at once
    # @return [nil]
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   worker = store.worker("inbox")
    #   worker.stop
    #   worker.run { nil } # it returns at once
    def stop(within: 25)
      @within_ms = Convert.milliseconds("within", within)
      @natives.dup.each { |native| stop_native(native, @within_ms) }
      nil
    end

    private

    def work_on(threads, handler, drains:, tells_all:)
      # Of its own, as an interrupt stops this run alone.
      @natives << (worker = native)
      stop_native(worker, @within_ms) if @within_ms
      run = Call.handle(@queue.handle(:Run)) do |out, error|
        @queue.call(:worker_start, worker, drains, tells_all, out, error)
      end
      SignalHandlers.new.noting do |signals|
        Run.new(@queue, run, handler, -> { stop_native(worker, 0) }, signals).work_on(threads)
      end
    ensure
      @natives.delete(worker)
    end

    def stop_native(worker, within_ms)
      Call.check { |error| @queue.call(:worker_stop, worker, within_ms, error) }
    end

    # Stops by signals while the block works.
    def stopping(signals, within)
      before = {}
      times = [within]
      signals.each { |signal| before[signal] = trap(signal) { stop(within: times.shift || 0) } }
      yield
    ensure
      Call.held_back { before.each { |signal, handler| trap(signal, handler) } }
    end
  end
end
