# frozen_string_literal: true

require "millpond/task_results"

module Millpond
  # A task that is being worked on; made by {Worker#jobs}.
  #
  # A native thread renews it, and the documents that it {#claim_docs claims}, three times a lease, so a busy
  # handler keeps them. A job ends by one of the methods that say what becomes of the task, which waits for a
  # renewal that is under way and happens to the newest versions. A job that nobody ends leaves the task leased
  # until the lease is over. It belongs to its process: in the child of a fork what ends it fails with
  # {ForkedError}.
  #
  # It holds all that under a {TaskStore#claimant} of its own, the task's. So no two jobs hold the same, and nobody
  # but the job can change or delete what it holds: end it by its own methods, not by {TaskStore#modify}, which is
  # refused.
  #
  # Any number of threads may use one job at a time.
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
    def initialize(native, data)
      @native = native
      @task = TaskResults::Contents.new(data).tasks.first
    end

    # @api private
    def name
      "task #{@task.id} of queue #{@task.queue}"
    end

    # The task at its newest version; in the child of a fork, as it was claimed.
    #
    # @return [TaskId]
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", id: "t")
    #   store.worker("inbox").jobs.first.handle.to_a # => ["t", 1]
    def handle
      version = Call.number(:uint64) { |out, error| Native.millpond_tasks_job_version(@native, out, error) }
      TaskId.new(@task.id, version).freeze
    end

    # Whether the lease is lost, because a renewal was refused or because none has succeeded for a whole lease: stop
    # working. What ends the job is refused then.
    #
    # Makes no call.
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

    # How long the handler may still work, as the worker's `timeout` says; nil for ever.
    #
    # Makes no call.
    #
    # @return [Float, nil] in seconds
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox")
    #   store.worker("inbox", timeout: 60).jobs.first.time_left > 50 # => true
    def time_left
      left_ms = Call.number(:int64) { |out, error| Native.millpond_tasks_job_time_left_ms(@native, out, error) }
      left_ms / 1000.0 unless left_ms.negative?
    end

    # Whether one of the methods that end the job has succeeded. Sends nothing.
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
    #
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

    # Leases all documents of these primary keys for as long as the job goes on, or none of them. They are the job's
    # alone: no other job gets them in that time. What ends the job releases them, unless it deletes them or says
    # until when they are to be held.
    #
    # Claim all that a job needs in one call. Jobs that claim one key after the other can wait for each other, so a
    # wait ends after 15 to 30 s, at random, even one without a limit: the job whose wait ends first gives back its
    # task, and with it the documents that it holds.
    #
    # @param namespace [String] the namespace of documents, up to 64 characters
    # @param keys [String, Enumerable<String>] primary keys of documents, 1 to 1,000 of up to 256 characters
    # @param wait [Numeric, nil] how long to wait for documents that others hold, in seconds; without it the call is
    #   refused at once. Waiters have no order: the claimant that held the documents may get them again first;
    #   `Float::INFINITY` waits without limit
    # @return [Array<Doc>]
    # @raise (see TaskStore#claim_docs)
    # @raise [DependencyError] if somebody else holds one of them, and then none is leased: a handler that lets this
    #   error through has not failed, and the task is given back, as {#fail} says
    # @raise [LeaseLostError] once the job has ended, also if it ends meanwhile: nothing is held then
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox")
    #   store.worker("inbox").jobs.first.claim_docs("accounts", "ann") # => []
    def claim_docs(namespace, keys, wait: nil)
      names = [*Convert.sized("namespace", namespace), *TaskArguments.names("keys", keys)]
      wait_ms = Batches.wait_ms(wait)
      TaskResults.docs { |out, error| Native.millpond_tasks_job_claim_docs(@native, *names, wait_ms, out, error) }
    end

    # Ends the job with a modification, in which the task and the documents that the job holds are taken at their
    # newest versions. The task is deleted unless the modification changes it.
    #
    # After an error it is as with {TaskStore#modify}, and it can be tried again, or ended in another way, while the
    # lease lasts, which is not renewed any more. {LeaseLostError} after an error of the connection can be for that
    # call itself, which was done.
    #
    # @param modification [Modification] what is to happen, all of it or nothing
    # @return [Modified]
    # @raise (see TaskStore#modify)
    # @raise [LeaseLostError] if the lease was lost
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs { |job| job.finish(job.delete.insert("outbox")) }
    #   store.queues.to_a # => [["outbox", 1]]
    def finish(modification)
      native = TaskArguments.modification(modification)
      TaskResults.modified { |out, error| Native.millpond_tasks_job_finish(@native, native, out, error) }
    end

    # Ends the job and deletes the task.
    #
    # @return [nil]
    # @raise (see #finish)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs(&:done)
    #   store.are_empty?(exact: "inbox") # => true
    def done
      finished { |error| Native.millpond_tasks_job_done(@native, error) }
    end

    # Ends the job as its handler's error does: as {#retry}, with this text as the reason. If that has in it what the
    # job's last claim of documents said of one that is taken, nothing has failed: the task is given back untried for
    # a short random time, of 8 to 16 ms and twice as long each time its worker finds no document free, up to 128 ms.
    # Nor has it failed if the text has in it why an end of the job was refused, and that was documents alone, which
    # others had changed: the task is given back untried for 10 to 100 ms, growing. After 20 times in a row in one run
    # that is an attempt.
    #
    # @param err [String] what went wrong
    # @return [nil]
    # @raise (see #finish)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs { |job| job.fail("no paper") }
    #   store.list("inbox").tasks.map { |task| [task.attempt, task.err] } # => [[1, "no paper"]]
    def fail(err = "")
      err = Convert.sized("err", err)
      finished { |error| Native.millpond_tasks_job_fail(@native, *err, error) }
    end

    # Ends the job and puts the task off for another attempt, as the {Worker} says, or into its error queue if that
    # was the last.
    #
    # @param err [String] what went wrong
    # @param delay [Numeric, nil] how long until the task is available again, in place of what the worker says, in
    #   seconds
    # @return [nil]
    # @raise (see #finish)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs { |job| job.retry("no paper", delay: 60) }
    #   store.list("inbox").tasks.map { |task| [task.attempt, task.err] } # => [[1, "no paper"]]
    def retry(err = "", delay: nil)
      err = Convert.sized("err", err)
      delay_ms = TaskArguments.milliseconds("delay", delay)
      finished { |error| Native.millpond_tasks_job_retry(@native, *err, delay_ms, error) }
    end

    # Ends the job and moves the task to this queue, with one more attempt and this reason.
    #
    # @param queue [String] the queue's name, 1 to 64 KiB
    # @param err [String] what went wrong
    # @return [nil]
    # @raise (see #finish)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox").jobs { |job| job.move_to("by hand", "no order") }
    #   store.queues.to_a # => [["by hand", 1]]
    def move_to(queue, err = "")
      texts = [*Convert.sized("queue", queue), *Convert.sized("err", err)]
      finished { |error| Native.millpond_tasks_job_move(@native, *texts, error) }
    end

    # Ends the job and gives the task back untried, available after a random time of 100 milliseconds or up to half of
    # it less, so that it is not given and given back all the time. This is no attempt, and no claim without an end.
    #
    # @param delay [Numeric, nil] how long until the task is available again, in seconds; 0 is at once, and without it
    #   a random time
    # @return [nil]
    # @raise (see #finish)
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
      @left = true
      nil
    end

    # @api private
    def left?
      @left
    end

    private

    def finished(&call)
      Call.check(&call)
      nil
    end
  end
end
