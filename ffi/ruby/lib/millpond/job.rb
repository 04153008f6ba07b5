# frozen_string_literal: true

require "millpond/task_results"

module Millpond
  # A task that is being worked on; made by {Worker#jobs} and {Worker#run}.
  #
  # A native thread renews it, and the documents that it claims, three times a lease, so a busy program keeps
  # them. It ends by one of the methods that decide what happens to the task ({#finish}, {#done},
  # {#fail}, {#retry}, {#move_to}, {#release}), which waits for a renewal that is under way and happens
  # to the newest versions. They raise {DependencyError} if the lease was lost or something else that
  # they name is not as it has to be. They can be tried again then, or the job ended in another way,
  # while the lease lasts, which is not renewed any more.
  #
  # It leases under a claimant of its own, `job.task.claimant`. So no two jobs hold the same task or
  # document, and only the job can end its task: {TaskStore#modify} is refused for it.
  #
  # Any number of threads may use one job at a time. After a fork it stays the parent's: in the child, what
  # ends it raises {ForkedError}.
  #
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
    def initialize(native)
      @native = native
      @task = TaskResults::Contents.new(Native.millpond_tasks_job_data(native)).tasks.first
    end

    # The task at its newest version.
    #
    # @return [TaskId]
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", id: "t")
    #   store.worker("inbox").jobs.first.handle.to_a # => ["t", 1]
    def handle
      version = Call.number(:uint64) do |out, error|
        Native.millpond_tasks_job_version(@native, out, error)
      end
      TaskId.new(@task.id, version).freeze
    end

    # Whether the lease is lost, because a renewal was refused or because none has succeeded for a whole
    # lease: stop working. What ends the job is refused then. Makes no call.
    #
    # @return [Boolean]
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox")
    #   store.worker("inbox").jobs.first.lost? # => false
    def lost?
      Call.number(:bool) { |out, error| Native.millpond_tasks_job_is_lost(@native, out, error) }
    end

    # Whether one of the methods that end the job has succeeded. Makes no call.
    #
    # @return [Boolean]
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox")
    #   job = store.worker("inbox").jobs.first
    #   job.ended? # => false
    #   job.done
    #   job.ended? # => true
    def ended?
      Call.number(:bool) { |out, error| Native.millpond_tasks_job_is_ended(@native, out, error) }
    end

    # A modification that deletes the task: the usual end of a job, to add to and to {#finish} with.
    # Makes no call.
    #
    # @return [Modification]
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   job = store.worker("inbox").jobs.first
    #   job.finish(job.delete.insert("outbox", value: job.task.value * 6))
    #   store.claim("outbox").value # => 42
    def delete
      Modification.new.delete(handle)
    end

    # Leases all documents of this primary key while the job runs; no other job gets them meanwhile. What
    # ends the job releases them, unless it deletes them or sets until when they are held.
    #
    # @param namespace [String]
    # @param key [String]
    # @param wait [Numeric, nil] up to how many seconds to wait while another claimant holds one of them.
    #   Waiters have no order: the claimant that held the documents may get them again first
    # @return [Array<Doc>] by secondary key
    # @raise [LeaseLostError] once the job has ended
    # @raise [DependencyError] if another claimant holds one of them; then none is leased. A handler that
    #   lets this error through has not failed: the task is released with a delay of some milliseconds,
    #   as {#fail} says
    # @raise (see TaskStore#claim_docs)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox")
    #   store.worker("inbox").jobs.first.claim_docs("accounts", "ann") # => []
    def claim_docs(namespace, key, wait: nil)
      namespace = Convert.bytes("namespace", namespace)
      key = Convert.bytes("key", key)
      wait_ms = Batches.wait_ms(wait)
      TaskResults.docs do |out, error|
        Native.millpond_tasks_job_claim_docs(@native, namespace, namespace.bytesize, key, key.bytesize, wait_ms,
                                             out, error)
      end
    end

    # Ends the job with a modification, in which the task and the documents that the job holds are taken
    # at their newest versions. If it does not name the task, that stays leased until the lease is over.
    #
    # @param modification [Modification]
    # @return [Modified] with the documents that were released in the end
    # @raise [DependencyError] if something is not as it has to be, or if the lease was lost
    # @raise (see TaskStore#modify)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs { |job| job.finish(job.delete.insert("outbox")) }
    #   store.queues.to_a # => [["outbox", 1]]
    def finish(modification)
      native = TaskArguments.modification(modification)
      TaskResults.modified do |out, error|
        Native.millpond_tasks_job_finish(@native, native, out, error)
      end
    end

    # Ends the job and deletes the task.
    #
    # @return [nil]
    # @raise [DependencyError] if the lease was lost
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs(&:done)
    #   store.are_empty?(exact: "inbox") # => true
    def done
      finished { |error| Native.millpond_tasks_job_done(@native, error) }
    end

    # Ends the job as an error of its handler does: as {#retry}, with this reason. If that contains the
    # message of the error with which the job's last {#claim_docs} was refused, this is no failure: the
    # task is released without counting an attempt, after a random delay of 8 to 16 milliseconds that
    # doubles each time its worker is refused again, up to 128.
    #
    # @param err [String] why
    # @return [nil]
    # @raise [TypeError] for anything but text
    # @raise [DependencyError] if the lease was lost
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs { |job| job.fail("no paper") }
    #   store.list("inbox").tasks.map { |task| [task.attempt, task.err] } # => [[1, "no paper"]]
    def fail(err = "")
      err = Convert.bytes("err", err)
      finished { |error| Native.millpond_tasks_job_fail(@native, err, err.bytesize, error) }
    end

    # Ends the job and schedules another attempt, after the worker's `backoff`; if that was the last
    # attempt, moves the task to its error queue.
    #
    # @param err [String] why
    # @param delay [Numeric, nil] the delay in seconds, instead of the worker's
    # @return [nil]
    # @raise [InvalidArgumentError, TypeError] for a wrong time, or anything but text
    # @raise [DependencyError] if the lease was lost
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs { |job| job.retry("no paper", delay: 60) }
    #   store.list("inbox").tasks.map { |task| [task.attempt, task.err] } # => [[1, "no paper"]]
    def retry(err = "", delay: nil)
      err = Convert.bytes("err", err)
      delay_ms = TaskArguments.milliseconds("delay", delay)
      finished { |error| Native.millpond_tasks_job_retry(@native, err, err.bytesize, delay_ms, error) }
    end

    # Ends the job and moves the task to this queue, with one more attempt and with the reason in its
    # `err`.
    #
    # @param queue [String]
    # @param err [String] why
    # @return [nil]
    # @raise [InvalidArgumentError, TypeError] for anything but a queue or text
    # @raise [DependencyError] if the lease was lost
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs { |job| job.move_to("by hand", "no order") }
    #   store.queues.to_a # => [["by hand", 1]]
    def move_to(queue, err = "")
      queue = Convert.bytes("queue", queue)
      err = Convert.bytes("err", err)
      finished do |error|
        Native.millpond_tasks_job_move(@native, queue, queue.bytesize, err, err.bytesize, error)
      end
    end

    # Ends the job and releases the task without counting an attempt. It does not count for
    # `max_claims` either.
    #
    # @param delay [Numeric, nil] after how many seconds it is available; 0 is at once, and nil a random
    #   time of 0.05 to 0.1 seconds, so that a task is not claimed and released in a tight loop
    # @return [nil]
    # @raise [InvalidArgumentError, TypeError] for a wrong time
    # @raise [DependencyError] if the lease was lost
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs.first.release(delay: 0)
    #   store.claim("inbox").claims # => 2
    def release(delay: nil)
      delay_ms = TaskArguments.milliseconds("delay", delay)
      finished { |error| Native.millpond_tasks_job_release(@native, delay_ms, error) }
    end

    # Stops renewing the job: the task stays leased until the lease is over. For a job that has ended it
    # does nothing. Any later call of the job raises {InvalidArgumentError}. Makes no call.
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
      nil
    end

    private

    def finished(&call)
      Call.check(&call)
      nil
    end
  end
end
