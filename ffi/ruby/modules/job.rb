# frozen_string_literal: true

require "millpond/task_results"

module Millpond
  # core
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.put_doc("accounts", "ann", content: { "balance" => 7 })
  #   store.insert("inbox", value: { "from" => "ann", "amount" => 2 })
  #   store.worker("inbox").jobs do |job|
  #     account, = job.claim_docs("accounts", job.task.value["from"])
  #     balance = account.content["balance"] - job.task.value["amount"]
  #     job.finish(job.delete.change_doc(account.change(content: { "balance" => balance })))
  #   end
  #   store.list_docs("accounts").docs.map(&:json) # => ["{\"balance\":5}"]
  class Job
    # @return [Task] the task, as it was claimed
    attr_reader :task

    # @api private
    def initialize(native, data)
      @native = native
      @task = TaskResults::Contents.new(data).tasks.first
    end

    # @api private
    def name
      "task #{@task.id} of queue #{@task.queue}"
    end

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", id: "t")
    #   store.worker("inbox").jobs.first.handle.to_a # => ["t", 1]
    def handle
      version = Call.number(:uint64) { |out, error| Native.millpond_tasks_job_version(@native, out, error) }
      TaskId.new(@task.id, version).freeze
    end

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox")
    #   store.worker("inbox").jobs.first.lost? # => false
    def lost? = core

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox")
    #   store.worker("inbox", max_attempts: 1).jobs.first.last_attempt? # => true
    def last_attempt? = core

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox")
    #   store.worker("inbox").jobs.first.cancelled? # => false
    def cancelled? = core

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox")
    #   store.worker("inbox", timeout: 60).jobs.first.time_left > 50 # => true
    def time_left = core

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox")
    #   job = store.worker("inbox").jobs.first
    #   job.ended? # => false
    #   job.done
    #   job.ended? # => true
    def ended? = core

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   job = store.worker("inbox").jobs.first
    #   job.finish(job.delete.insert("outbox", value: job.task.value * 6))
    #   store.claim("outbox").value # => 42
    def delete
      Modification.new.delete(handle)
    end

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox")
    #   store.worker("inbox").jobs.first.claim_docs("accounts", "ann") # => []
    def claim_docs(namespace, keys, wait: nil) = core

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs { |job| job.finish(job.delete.insert("outbox")) }
    #   store.queues.to_a # => [["outbox", 1]]
    def finish(modification) = core

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs(&:done)
    #   store.are_empty?(exact: "inbox") # => true
    def done = core

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs { |job| job.fail("no paper") }
    #   store.list("inbox").tasks.map { |task| [task.attempt, task.err] } # => [[1, "no paper"]]
    def fail(err = "") = core

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs { |job| job.retry("no paper", delay: 60) }
    #   store.list("inbox").tasks.map { |task| [task.attempt, task.err] } # => [[1, "no paper"]]
    def retry(err = "", delay: nil) = core

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs { |job| job.move_to("by hand", "no order") }
    #   store.queues.to_a # => [["by hand", 1]]
    def move_to(queue, err = "") = core

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs.first.release(delay: 0)
    #   store.claim("inbox").claims # => 2
    def release(delay: nil) = core

    # Stops renewing the job: the task stays leased until the lease expires. For a job that has ended
    # it does nothing. Any later call on the job raises {InvalidArgumentError}. Makes no call.
    #
    # @return [nil]
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs.first.leave
    #   store.claim("inbox") # => nil
    def leave
      @native.free
      @left = true
      nil
    end

    # @api private
    def left?
      @left
    end
  end
end
