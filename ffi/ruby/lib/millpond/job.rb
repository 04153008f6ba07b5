# frozen_string_literal: true

require "millpond/task_answers"

module Millpond
  # A task that is being worked on; made by {Worker#jobs} and {Worker#run}.
  #
  # A native thread renews it, and the documents that it claims, twice a lease, so a busy program keeps
  # them. It ends by one of the methods that say what becomes of the task ({#finish}, {#done}, {#fail},
  # {#retry}, {#move_to}, {#release}), which waits for a renewal that is under way and happens to the newest
  # versions. They raise {DependencyError} if the lease was lost or something else that they name is not as
  # it has to be. They can be tried again then, or the job ended in another way, while the lease lasts,
  # which is not renewed any more.
  #
  # It holds what it holds under a claimant of its own, `job.task.claimant`. So no two jobs hold the same,
  # and only the job can end its task: {TaskStore#modify} is refused for it.
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
      @task = TaskAnswers::Contents.new(Native.millpond_tasks_job_data(native)).tasks.first
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
      version = Call.number(:uint64) do |place, error|
        Native.millpond_tasks_job_version(@native, place, error)
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
      Call.number(:bool) { |place, error| Native.millpond_tasks_job_is_lost(@native, place, error) }
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
      Call.number(:bool) { |place, error| Native.millpond_tasks_job_is_ended(@native, place, error) }
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

    # Leases all documents of this primary key for as long as the job goes on; no other job gets them
    # meanwhile. What ends the job releases them, unless it deletes them or says until when they are to be
    # held.
    #
    # @param namespace [String]
    # @param key [String]
    # @param wait [Numeric, nil] up to how many seconds to wait while somebody else holds one of them. Those
    #   who wait have no order, and who held the documents may get them again first
    # @return [Array<Doc>] by secondary key
    # @raise [LeaseLostError] once the job has ended
    # @raise [DependencyError] if somebody else holds one of them; then none is leased. A handler that lets
    #   this error through has not failed: the task is given back for some milliseconds, as {#fail} says
    # @raise (see TaskStore#claim_docs)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox")
    #   store.worker("inbox").jobs.first.claim_docs("accounts", "ann") # => []
    def claim_docs(namespace, key, wait: nil)
      namespace = Convert.bytes("namespace", namespace)
      key = Convert.bytes("key", key)
      wait_ms = TaskArguments.milliseconds("wait", wait)
      TaskAnswers.docs do |place, error|
        Native.millpond_tasks_job_claim_docs(@native, namespace, namespace.bytesize, key, key.bytesize, wait_ms,
                                             place, error)
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
      TaskAnswers.modified do |place, error|
        Native.millpond_tasks_job_finish(@native, native, place, error)
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

    # Ends the job as an error of its handler does: as {#retry}, with this reason. If that has in it the
    # message of the error by which the job's last {#claim_docs} found a document taken, nothing has failed:
    # the task is given back untried for a short random time, of 8 to 16 milliseconds and twice as long
    # each time its worker finds no document free, up to 128.
    #
    # @param err [String] why
    # @return [nil]
    # @raise [TypeError] for what is no text
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

    # Ends the job and puts the task off for another attempt, as the worker's `backoff` says, or into
    # its error queue if that was the last.
    #
    # @param err [String] why
    # @param delay [Numeric, nil] how many seconds it is put off, in place of what the worker says
    # @return [nil]
    # @raise [InvalidArgumentError, TypeError] for a wrong time, or what is no text
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

    # Ends the job and moves the task to this queue, with one more attempt and with why in its `err`.
    #
    # @param queue [String]
    # @param err [String] why
    # @return [nil]
    # @raise [InvalidArgumentError, TypeError] for what is no queue or no text
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

    # Ends the job and gives the task back untried. This is no attempt, and does not count for
    # `max_claims`.
    #
    # @param delay [Numeric, nil] after how many seconds it is available; 0 is at once, and nil a random
    #   time of 0.05 to 0.1 seconds, so that a task is not given and given back all the time
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

    # Forgets the job: the task stays leased until the lease is over, which is not renewed any more. For
    # a job that has ended it does nothing. Whatever is asked of the job afterwards raises
    # {InvalidArgumentError}. Makes no call.
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
