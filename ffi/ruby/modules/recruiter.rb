# frozen_string_literal: true

require "millpond/enlistment"
require "millpond/error_hook"
require "millpond/signal_handlers"
require "millpond/task_arguments"

module Millpond
  # core
  # @example
  #   mails = ["to ann", "to bob"]
  #   recruiter = Millpond.connect("memory:").recruiter("site")
  #   recruiter.install("mail", share: 1, budget: 0.02) do |slice|
  #     sent = 0
  #     until mails.empty? || slice.over?
  #       mails.pop # one mail
  #       sent += 1
  #     end
  #     sent # 0 says that there was nothing to do
  #   end
  #   duty = recruiter.enlist # after a response, or when a queue was empty
  #   [duty.job, duty.why] # => ["mail", :worked]
  class Recruiter
    # @return [String] the name
    attr_reader :name

    # @api private
    def initialize(client, name)
      @name = Convert.bytes("name", name)
      @native = Call.handle(Native::Recruiter) do |out, error|
        Native.millpond_recruiter_new(client.native, @name, @name.bytesize, out, error)
      end
      # By the ids of their jobs. It is replaced and never changed, so that other threads can read it.
      @handlers = {}
      @lock = Mutex.new
    end

    # @example
    #   recruiter = Millpond.connect("memory:").recruiter("site")
    #   recruiter.install("mail", per_second: 2, budget: 0.05) { |slice| puts "a mail" until slice.over? }
    #   recruiter.install("cart", share: 0.01) { puts "one cart" }
    #   recruiter.install("cart", share: 0.01) { nil } # raises Millpond::InvalidArgumentError
    def install(id, handler = nil, per_second: nil, share: nil, burst: nil, budget: nil, max_running: 0, lease: nil,
                idle_max: nil, &block)
      handler ||= block
      raise ArgumentError, "a job has a block or a handler" unless handler.respond_to?(:call)

      id = Convert.bytes("id", id)
      job = Convert.options(Native::NewJob, id: id, per_second: per_second, share: share, burst: burst, budget: budget,
                                            max_running: max_running, lease: lease, idle_max: idle_max)
      Call.held_back { @lock.synchronize { add(job, Call.text(id.dup).freeze, handler) } }
      nil
    end

    # @example
    #   recruiter = Millpond.connect("memory:").recruiter("site")
    #   recruiter.install("mail", share: 1) { nil }
    #   recruiter.uninstall("mail") # => true
    #   recruiter.enlist.why # => :no_jobs
    def uninstall(job)
      id, length = Convert.sized("job", job)
      Call.held_back do
        @lock.synchronize do
          found = Call.number(:bool, waits: false) do |out, error|
            Native.millpond_recruiter_uninstall(@native, id, length, out, error)
          end
          @handlers = @handlers.reject { |key, _| key.b == id.b }
          found
        end
      end
    end

    # @example
    #   recruiter = Millpond.connect("memory:").recruiter("site")
    #   errors = []
    #   recruiter.on_error { |job, error| errors << [job, error.message] }
    #   recruiter.install("mail", share: 1) { raise "no network" }
    #   recruiter.enlist.why # => :failed
    #   errors # => [["mail", "no network"]]
    def on_error(hook = nil, &block)
      hook ||= block
      raise ArgumentError, "on_error has a block or a hook" unless hook.respond_to?(:call)

      @on_error = hook
      nil
    end

    # @example
    #   clock = Millpond::ManualClock.new
    #   recruiter = Millpond.connect("memory:", clock: clock).recruiter("site")
    #   recruiter.install("mail", per_second: 2) { puts "a mail" }
    #   recruiter.enlist.why # => :not_due
    #   clock.advance(5) # a process first asks the server at a random time within 5 seconds
    #   recruiter.enlist(budget: 0.01).why # => :worked
    def enlist(budget: nil)
      enlistment = Enlistment.new
      enlistment.begin(@native, TaskArguments.milliseconds("budget", budget))
      return work(enlistment.slice) if enlistment.slice

      report(nil, enlistment.unavailable) { "no slice: #{enlistment.unavailable}" } if enlistment.unavailable
      enlistment.duty
    ensure
      enlistment&.close
    end

    # @example
    #   clock = Millpond::ManualClock.new
    #   recruiter = Millpond.connect("memory:", clock: clock).recruiter("site")
    #   mails = ["to ann", "to bob"]
    #   recruiter.install("mail", per_second: 2) do
    #     clock.advance(1)
    #     puts mails.pop
    #     recruiter.stop if mails.empty?
    #   end
    #   clock.advance(5)
    #   recruiter.run
    #   mails # => []
    def run(stop_on_signals: nil)
      SignalHandlers.stopping(stop_on_signals, -> { stop }) do
        SignalHandlers.new.noting { |signals| work_on_slices(signals) }
      end
      nil
    end

    # @example
    #   clock = Millpond::ManualClock.new
    #   recruiter = Millpond.connect("memory:", clock: clock).recruiter("site")
    #   recruiter.install("mail", per_second: 2) { puts "a mail" }
    #   recruiter.due? # => false
    #   clock.advance(5)
    #   recruiter.due? # => true
    def due? = core

    # @example
    #   Millpond.connect("memory:").recruiter("site").wake("mail") # => nil
    def wake(job) = core

    # @example
    #   recruiter = Millpond.connect("memory:").recruiter("site")
    #   recruiter.stop
    #   recruiter.enlist.why # => :stopped
    def stop = core

    # @example
    #   clock = Millpond::ManualClock.new
    #   recruiter = Millpond.connect("memory:", clock: clock).recruiter("site")
    #   recruiter.install("mail", per_second: 2) { 3 }
    #   clock.advance(5)
    #   recruiter.enlist
    #   recruiter.stop # it reports what has not been reported
    #   recruiter.stats.jobs.map { |stats| [stats.job, stats.worked, stats.items] } # => [["mail", 1, 3]]
    def stats = core

    # @example
    #   Millpond.connect("memory:").recruiter("site").set_duty_max(0.5) # => nil
    def set_duty_max(part) = core

    # @example
    #   Millpond.connect("memory:").recruiter("site").set_decision_timeout(0.1) # => nil
    def set_decision_timeout(timeout) = core

    private

    # The handler is there before another thread can begin a slice. A job that is installed already keeps its own.
    def add(job, id, handler)
      before = @handlers
      @handlers = { id => handler }.merge(before)
      Call.check(waits: false) { |error| Native.millpond_recruiter_install(@native, job, error) }
    rescue Error
      @handlers = before
      raise
    end

    def work_on_slices(signals)
      slices = Call.handle(Native::RecruiterSlices) do |out, error|
        Native.millpond_recruiter_slices_new(@native, -1, out, error)
      end
      nil while work_on_next(slices, signals)
    ensure
      slices&.free
    end

    def work_on_next(slices, signals)
      enlistment = Enlistment.new
      begin
        enlistment.next(slices)
      rescue CancelledError
        raise
      rescue Error => error
        raise if error.retry == :never || signals.raised?(error)

        # The next call waits a while before it asks again.
        report(nil, error, signals) { "no slice: #{error}" }
        retry
      end
      work(enlistment.slice, signals) if enlistment.slice
    ensure
      enlistment&.close
    end

    # Has the handler do a slice, and ends it. Whatever else ends the program, the thread or the block, the slice fails.
    #
    # @return [Duty]
    def work(slice, signals = nil)
      handler = @handlers[slice.job]
      # Its job was uninstalled a moment ago.
      return slice.abort || slice.finish(0) unless handler

      begin
        items = RecruiterResults.items(handler.call(slice))
      rescue StandardError, ScriptError, SystemStackError, NoMemoryError => error
        raise if signals&.raised?(error)
      end
      duty = slice.finish(items)
      return duty unless error

      report(slice.job, error, signals) { |hook| "the job #{slice.job} failed: #{hook.all_of(error)}" }
      raise error if error.is_a?(NoMemoryError)

      duty
    ensure
      Call.held_back { slice.finish(nil) } unless slice.ended?
    end

    # @yieldreturn [String] the line for the log
    def report(job, error, signals = nil)
      hook = ErrorHook.new(@on_error, signals)
      hook.tell(job, error) { yield hook }
    end
  end
end
