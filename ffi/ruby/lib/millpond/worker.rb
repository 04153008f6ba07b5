# frozen_string_literal: true

require "millpond/job"

module Millpond
  # Raised by a handler of {Worker#run}: retry the task, for this reason.
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.insert("inbox", value: 7)
  #   store.worker("inbox").run { raise Millpond::Retry.new("no paper", delay: 60) }
  #   store.list("inbox").tasks.map { |task| [task.attempt, task.err] } # => [[1, "no paper"]]
  class Retry < StandardError
    # @return [String] why
    attr_reader :err

    # @return [Numeric, nil] after how many seconds; nil for what the worker's `backoff` says
    attr_reader :delay

    # @param err [String] why
    # @param delay [Numeric, nil] after how many seconds, instead of what the worker says
    # @example
    #   Millpond::Retry.new("no paper", delay: 60).delay # => 60
    def initialize(err = "", delay: nil)
      super(err)
      @err = err
      @delay = delay
    end
  end

  # Raised by a handler of {Worker#run}: move the task to this queue, for this reason.
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.insert("inbox", value: 7)
  #   store.worker("inbox").run { raise Millpond::Move.new("by hand", "no order") }
  #   store.claim("by hand").err # => "no order"
  class Move < StandardError
    # @return [String] where to
    attr_reader :queue

    # @return [String] why
    attr_reader :err

    # @param queue [String] where to
    # @param err [String] why
    # @example
    #   Millpond::Move.new("by hand", "no order").queue # => "by hand"
    def initialize(queue, err = "")
      super(err)
      @queue = queue
      @err = err
    end
  end

  # Raised by a handler of {Worker#run}: release the task for another worker without counting an attempt;
  # see {Job#release}.
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.insert("inbox", value: 7)
  #   store.worker("inbox").run { raise Millpond::Release.new(delay: 60) }
  #   store.list("inbox").tasks.map(&:attempt) # => [0]
  class Release < StandardError
    # @return [Numeric, nil] after how many seconds; nil for a short random time
    attr_reader :delay

    # @param delay [Numeric, nil] after how many seconds it is available again
    # @example
    #   Millpond::Release.new(delay: 60).delay # => 60
    def initialize(delay: nil)
      super()
      @delay = delay
    end
  end

  # Says how tasks are worked on; made by {TaskStore#worker}. {#jobs} or {#run} begin the work; run several for
  # several tasks at a time.
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.insert("inbox", value: { "price" => 7 })
  #   store.insert("inbox", value: { "price" => nil })
  #   store.worker("inbox", max_attempts: 1).run do |job|
  #     raise ArgumentError, "no price" unless job.task.value["price"]
  #
  #     job.delete.insert("outbox", value: { "total" => job.task.value["price"] * 6 })
  #   end
  #   store.list("outbox").tasks.map { |task| task.value["total"] } # => [42]
  #   store.list("inbox/err").tasks.map(&:err) # => ["ArgumentError: no price"]
  class Worker
    # @api private
    def initialize(store, queues, options)
      @store = store
      @queues = queues
      @options = options
    end

    # The jobs, one after the other. One that the block neither ends nor takes along by `break` is left when the block
    # has returned, and its task leased until the lease is over. An Enumerator leaves a job when it is requested the
    # next.
    #
    # @yieldparam job [Job]
    # @return [self] or, without a block, an Enumerator
    # @raise (see TaskStore#claims)
    # @raise [CancelledError] for an interrupt that `Thread.handle_interrupt` holds back
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: { "order" => 7 })
    #   orders = []
    #   store.worker("inbox").jobs do |job|
    #     orders << job.task.value["order"]
    #     job.done
    #   end
    #   orders # => [7]
    def jobs
      return enum_for(:jobs) unless block_given?

      jobs = Call.handle(Native::TasksJobs) do |out, error|
        Native.millpond_tasks_jobs_new(@store, *@queues, @options, out, error)
      end
      while (job = next_job(jobs))
        begin
          yield job
        rescue Exception
          job.leave
          raise
        end
        job.leave
      end
      self
    ensure
      jobs&.free
    end

    # Works until there is nothing left to do and the `wait` is over.
    #
    # The handler gets a {Job}. A {Modification} that it returns happens in one step, with the job's own versions;
    # after any other value the task is done and is deleted. It can raise {Retry}, {Move} and {Release}; any other
    # error is a failure with its class and message, as {Job#fail} says. What ends a program or a thread, such as an
    # Interrupt or SystemExit, ends the run and releases the task at once, and so does `break`. Nothing is done to a
    # job that the handler ended itself.
    #
    # A modification that the store refuses with a {DependencyError}, or that is invalid, is a failure too: the task
    # is released at once, unless its lease was lost, and `on_error` is called. By default it is a warning, as of
    # `Kernel#warn`. The run continues. Other errors of the store end the run, and so does what `on_error` raises.
    #
    # @param handler [#call, nil] instead of the block
    # @param on_error [#call, nil] is called with the {Job} and the {Error} of a job that could not end as its handler
    #   said
    # @yieldparam job [Job]
    # @return [self]
    # @raise (see TaskStore#claims)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").run { |job| job.delete.insert("outbox", value: job.task.value * 6) }
    #   store.claim("outbox").value # => 42
    def run(handler = nil, on_error: nil, &block)
      handler ||= block
      on_error ||= Worker.method(:warn_of)
      raise ArgumentError, "a worker runs with a block or a handler" unless handler.respond_to?(:call)

      jobs do |job|
        ending = nil
        begin
          ending = Worker.ending(handler, job)
        ensure
          Worker.give_back(job) unless ending
        end
        Worker.settle(job, ending, on_error) unless job.ended?
      end
    end

    # Ends a job as its handler said, or releases its task if that is refused.
    #
    # @api private
    def self.settle(job, ending, on_error)
      ending.call
    rescue DependencyError, InvalidArgumentError => refused
      begin
        job.fail(told(refused))
      rescue DependencyError
        nil # another claimant has the task now
      end
      on_error.call(job, refused)
    end

    # @api private
    def self.warn_of(job, error)
      Kernel.warn("millpond: the end of task #{job.task.id} of queue #{job.task.queue} was refused: #{error.message}")
    end

    # How the job ends that this handler was called with.
    #
    # @api private
    def self.ending(handler, job)
      done = handler.call(job)
      done.is_a?(Modification) ? -> { job.finish(done) } : -> { job.done }
    rescue Retry => failure
      -> { job.retry(failure.err, delay: failure.delay) }
    rescue Move => failure
      -> { job.move_to(failure.queue, failure.err) }
    rescue Release => failure
      -> { job.release(delay: failure.delay) }
    rescue StandardError, ScriptError, SystemStackError => failure
      told = told(failure)
      -> { job.fail(told) }
    end

    # The error that ends the run is more important than whether the task is released at once or after
    # its lease.
    #
    # @api private
    def self.give_back(job)
      job.release(delay: 0)
    rescue Error
      nil
    end

    # @api private
    def self.told(failure)
      message = String.new(failure.message)
      message.force_encoding(Encoding::UTF_8) if message.encoding == Encoding::BINARY
      "#{failure.class}: #{message.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub}"
    end
    private_class_method :told

    private

    def next_job(jobs)
      job = nil
      native = Call.handle(Native::TasksJob) do |out, error|
        Native.millpond_tasks_jobs_next(jobs, out, error)
      end
      job = Job.new(native) if native
    ensure
      # An interrupt came meanwhile: it would never end, and be renewed.
      native.free if native && !job
    end
  end
end
