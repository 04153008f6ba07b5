# frozen_string_literal: true

require "millpond/handler"
require "millpond/outcome"

module Millpond
  # A run of a worker: passes one job after another to the handler, on as many threads as needed.
  #
  # Interrupts (Thread#raise, Thread#kill, Timeout, Ctrl-C) may arrive at any time, even between the return of a
  # call and the assignment of its result. Each of them ends the run, and a run that ends gives back all jobs that
  # it took and that have not ended.
  #
  # @api private
  class Run
    # @param queue [JobQueue] the kind of queue that the jobs are from
    # @param stop [#call] stops the run immediately
    def initialize(queue, native, handler, stop, signals)
      @queue = queue
      @native = native
      @handler = handler
      @stop = stop
      @signals = handler.signals = signals
      @threads = []
      # What ended each thread; nil if the run was over.
      @ends = Queue.new
      # The jobs in progress: the garbage collector must not free them before they are given back.
      @held = {}.compare_by_identity
    end

    # Works on this thread and on further ones, `count` in total; returns what became of the jobs.
    def work_on(count)
      (count - 1).times { @threads << Thread.new { work_beside } }
      work
      ended = @threads.each.lazy.filter_map { @ends.pop }.first
      raise ended if ended.is_a?(Exception)

      counts
    ensure
      Call.held_back { close }
    end

    private

    def counts
      counts = Native::JobCounts.new
      Call.check { |error| @queue.call(:run_counts, @native, counts, error) }
      JobCounts.new(*counts.values).freeze
    end

    # Whatever ends a thread ends the run.
    def work_beside
      ended = :killed
      work
      ended = nil
    rescue Exception => ended
      nil
    ensure
      @stop.call if ended
      @ends << ended
    end

    def work
      while (event = take)
        @held.key?(event) ? work_at(event) : report(event)
      end
    end

    # The next job or report; nil when the run is over.
    def take
      event = nil
      out = FFI::MemoryPointer.new(:pointer, 2)
      Call.check do |error|
        status = @queue.call(:run_next, @native, out, out + out.type_size, error)
        job, report = out.read_array_of_pointer(2)
        event = @queue.handle(:Report).new(report) unless report.null?
        @held[event = @queue.handle(:Job).new(job)] = true unless job.null?
        status
      end
      event
    end

    def report(native)
      @handler.reported(@queue.report(native))
    end

    def work_at(native)
      job = @queue.job(native)
      begin
        ending = @handler.call(job)
        raise ending if @signals.raised?(ending)

        ending = @handler.failed(job, ending) if ending.is_a?(Exception) && !ending.is_a?(Ending)
        @handler.put_aside(job, ending) if ending.is_a?(Reject)
        finish(native, ending) unless job.left?
      rescue InvalidArgumentError, TypeError => error # an end that no job can have
        raise if @signals.raised?(error)

        finish(native, @handler.failed(job, error))
      rescue SystemExit, NoMemoryError => error
        raise if @signals.raised?(error)

        # It ends the program, and still counts as an attempt: otherwise one such job would end every program,
        # forever.
        finish(native, @handler.failed(job, error)) unless job.left?
        @held.delete(native)
        native.free
        raise
      end
      @held.delete(native)
      native.free
    end

    def finish(native, ending)
      outcome = Outcome.of(ending)
      Call.check { |error| @queue.call(:run_end, @native, native, outcome, error) }
    end

    # Gives back the jobs that have not ended, and waits until that is done.
    def close
      @threads.each(&:kill)
      @stop.call
      @threads.each(&:join)
      while (event = take)
        report(event)
      end
    rescue Error
      nil # the error that ends the run is more important
    ensure
      @handler.close
      [*@held.keys, @native].each(&:free)
    end
  end
end
