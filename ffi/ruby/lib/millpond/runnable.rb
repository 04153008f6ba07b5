# frozen_string_literal: true

require "millpond/run"
require "millpond/signal_handlers"

module Millpond
  # What a worker did, counted in jobs; returned by {Runnable#run} and {Runnable#drain}.
  #
  # @!attribute [r] done
  #   @return [Integer] jobs that are done
  # @!attribute [r] retried
  #   @return [Integer] jobs that failed and are tried again later, including those whose end was refused
  # @!attribute [r] dead
  #   @return [Integer] jobs that were put aside, because they were rejected, tried too often, or ended their workers
  # @!attribute [r] others
  #   @return [Integer] jobs that were given back untried, moved to another queue, or lost
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   2.times { |number| store.insert("inbox", value: number) }
  #   store.worker("inbox").drain { |job| 1 / job.task.value }.to_h # => {:done=>1, :retried=>1, :dead=>0, :others=>0}
  JobCounts = Struct.new(:done, :retried, :dead, :others)

  # What every worker can do: run, drain and stop.
  #
  # The handler gets a job. A {Modification} that it returns is applied in one step, with the job's own versions. The
  # task is deleted unless the modification changes it. Any other return value also deletes it: the job is done. The
  # handler may raise or return {Retry}, {Move}, {Reject} and {Release}; any other error is a failure with its class and
  # message, and the job is tried again after the worker's `backoff`. A return value that was plainly meant as something
  # else is a failure too: a Hash with a key like that of a modification's list, such as `insert`, or with Arrays alone; a
  # change outside a modification; an Array with such a key or change in it; a Thread that is still running. So is a
  # modification for a message or an event, which end without one. A job that the handler ended itself is left alone.
  #
  # Anything that ends a program or a thread, such as SystemExit, Thread#kill or a Timeout around the worker, ends the
  # run, and so does `break`: jobs are given back, available immediately, and threads that are still in a handler are
  # killed. A handler that raises SystemExit or NoMemoryError itself has failed, which is an attempt. What a `trap` of
  # the program raises for SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1 or SIGUSR2, if it is not a signal that stops the
  # run, ends it in the same way: that is not a failure of the job that was running.
  #
  # `on_error` is called with the job, if there is one, and an error: the error of a handler; the reason why a job was
  # put aside, was lost, or could not end as its handler said; or an error that says that the server is away or back. By
  # default these go to {Millpond.logger}. Anything that `on_error` or `on_event` raises is logged.
  module Runnable
    # Works until it is {#stop stopped}, on `concurrency` threads including this one, and returns what it did. While a
    # server is away, the worker keeps trying until it is back.
    #
    # SIGTERM and Ctrl-C stop the worker with `stop_within`; a second one stops it immediately. The program's own traps
    # are called too, and what they raise is raised when the run has ended. When this method returns, they are alone
    # again.
    #
    # @param handler [#call, nil] instead of the block
    # @param on_error [#call, nil] called with the job and the error, instead of logging it
    # @param on_event [#call, nil] called with each {Report}, including those of success: for metrics
    # @param stop_on_signals [Boolean, nil] whether SIGTERM and SIGINT stop it; by default on the main thread
    # @param stop_within [Numeric] how long a stop by a signal waits for running jobs, in seconds
    # @yieldparam job [Job, ShuffleJob, EventJob]
    # @return [JobCounts]
    # @raise [Error] a non-retryable error, such as {WrongTypeError} and {InvalidArgumentError}
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
      handler = Handler.new(handler || block, on_error, on_event)
      times = [stop_within]
      SignalHandlers.stopping(stop_on_signals, -> { stop(within: times.shift || 0) }) do
        work_on(@concurrency, handler, drains: false, tells_all: !on_event.nil?)
      end
    end

    # Works on this thread until nothing is available, and returns what it did. For tests, and for programs started by
    # cron.
    #
    # @param handler [#call, nil] instead of the block
    # @param on_error [#call, nil] as for {#run}
    # @param on_event [#call, nil] as for {#run}
    # @yieldparam job [Job, ShuffleJob, EventJob]
    # @return [JobCounts]
    # @raise [Error] the error that ended it, including that a server is away
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

    # Stops the runs: they take no more jobs and wait for the running ones. A job that still runs after this time is
    # given back, available immediately; its handler finds that {Job#lost?}, and a run returns when its handlers have
    # returned. A second stop changes the time. A stopped worker stays stopped.
    #
    # Can be called from any thread, and from a signal handler.
    #
    # @param within [Numeric] how long to wait for running jobs, in seconds; 0 is immediately
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
      # Each run has its own, since an interrupt stops only this run.
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
  end
end
