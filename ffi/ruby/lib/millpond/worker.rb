# frozen_string_literal: true

require "millpond/job"
require "millpond/job_queue"
require "millpond/runnable"

module Millpond
  # Runs a handler for the tasks of some queues; made by {TaskStore#worker}. {#run} works until it is stopped, on
  # `concurrency` jobs at a time, and {#drain} until nothing is available.
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.insert("inbox", value: { "price" => 7 })
  #   store.insert("inbox", value: { "price" => nil })
  #   store.worker("inbox", max_attempts: 1).drain do |job|
  #     raise ArgumentError, "no price" unless job.task.value["price"]
  #
  #     job.delete.insert("outbox", value: { "total" => job.task.value["price"] * 6 })
  #   end
  #   store.list("outbox").tasks.map { |task| task.value["total"] } # => [42]
  #   store.list("inbox/err").tasks.map(&:err) # => ["exhausted: ArgumentError: no price"]
  class Worker
    include Runnable

    QUEUE = JobQueue.new("tasks") { |native, data| Job.new(native, data) }
    private_constant :QUEUE

    # @api private
    def initialize(store, queues, concurrency, options)
      @store = store
      @queues = queues
      @concurrency = concurrency
      @options = options
      @queue = QUEUE
      @natives = []
    end

    # The jobs, one after the other. A job that the block neither ends nor passes out with `break` is abandoned when
    # the block returns, and its task stays leased until the lease expires. An Enumerator abandons a job when the next
    # one is requested.
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
    def jobs(&block)
      return enum_for(:jobs) unless block_given?

      worker = native
      jobs = Call.handle(Native::TasksJobs) { |out, error| Native.millpond_tasks_worker_jobs(worker, out, error) }
      nil while with_next(jobs, &block)
      self
    ensure
      jobs&.free
    end

    private

    def native
      Call.handle(Native::TasksWorker) do |out, error|
        Native.millpond_tasks_worker_new(@store, *@queues, @options, out, error)
      end
    end

    # If an interrupt lost a job, it would be renewed until the garbage collector finds it.
    def with_next(jobs)
      job = nil
      out = FFI::MemoryPointer.new(:pointer)
      Call.check do |error|
        status = Native.millpond_tasks_jobs_next(jobs, out, error)
        pointer = out.read_pointer
        job = QUEUE.job(Native::TasksJob.new(pointer)) unless pointer.null?
        status
      end
      yield job if job
      job&.leave
      job
    rescue Exception
      Call.held_back { job&.leave }
      raise
    ensure
      # A thread that is killed raises nothing, and neither does a break, which takes the job along.
      Call.held_back { job&.leave if Thread.current.status == "aborting" }
    end
  end
end
