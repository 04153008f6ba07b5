# frozen_string_literal: true

require "millpond/shuffle_results"
require "millpond/task_lists"
require "millpond/worker"

module Millpond
  # A store of tasks and documents by its name; made by {Client#tasks}. Everything that one modification spans is in
  # one store.
  #
  # There are two ways to change it: a *claim* leases an available task to one claimant, and a *modification*
  # inserts, changes and deletes tasks and documents, all of it or nothing. So a worker deletes the task that it has
  # done and inserts what follows in one step, and nothing is lost or done twice if it dies before or after.
  #
  # Delivery is at least once: a task is available again when its lease is over. Order is not guaranteed, but the
  # oldest tasks of the highest priority come first, nearly.
  #
  # Names of queues have up to 64 KiB, ids, claimants and namespaces up to 64 characters (ids of documents 1,025),
  # values up to 16 MiB. Calls raise {InvalidArgumentError} or TypeError for wrong arguments, before anything is
  # sent, and {WrongTypeError} or {IncompatibleVersionError} if the keys hold something else.
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.insert("inbox", value: { "order" => 7 })
  #   task = store.claim("inbox")
  #   task.value["order"] # => 7
  #   # Done with one and on with the next, in one step: both happen or neither does.
  #   done = Millpond::Modification.new.delete(task).insert("outbox", value: { "invoice" => 7 })
  #   store.modify(done).inserted.map(&:queue) # => ["outbox"]
  #   store.queues.to_a # => [["outbox", 1]]
  class TaskStore
    # The Redis keys of the scripts of a store, for connections of your own. Makes no call. There are ten;
    # a script takes as many of the first as the comment at the end of its source names.
    #
    # @param name [String] the name of a store
    # @return [Array<String>] as bytes
    # @raise [InvalidArgumentError] for an empty name or more than 64 KiB
    #
    # @example
    #   Millpond::TaskStore.keys("shop").all? { |key| key.include?("shop") } # => true
    def self.keys(name)
      name = Convert.sized("name", name)
      Convert.keys(Encoding::BINARY) { |out, error| Native.millpond_tasks_keys(*name, out, error) }
    end

    # @return [String] the name
    attr_reader :name

    # @return [String] the name that claims are made under
    attr_reader :claimant

    # @api private
    def initialize(client, name, claimant)
      @name = Convert.bytes("name", name)
      claimant &&= Convert.bytes("claimant", claimant)
      @native = Call.handle(Native::TasksStore) do |out, error|
        Native.millpond_tasks_store_new(client.native, @name, @name.bytesize, claimant, claimant.to_s.bytesize,
                                        out, error)
      end
      out = Native::Bytes.new
      Call.check { |error| Native.millpond_tasks_claimant(@native, out, error) }
      @claimant = out[:data].read_bytes(out[:length]).force_encoding(Encoding::UTF_8).freeze
    end

    # Inserts one task. For more than one, see {Modification}.
    #
    # After {ConnectionLostError} or {TimeoutError} the task may or may not be there; with an id of its own it can be
    # inserted again.
    #
    # @param queue [String] the queue's name, 1 to 64 KiB
    # @param settings [Hash] as {Modification#insert} has them: `value` or `json`, `id`, `at_ms` or `delay`,
    #   `attempt`, `err`, `priority`, `ttl`, `skip_colliding`
    # @return [Task, nil] nil if it was skipped
    # @raise [DependencyError] if the id is taken
    # @raise (see #modify)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: { "order" => 7 }, priority: 5).priority # => 5
    #   store.insert("reports", id: "2026-11-21", skip_colliding: true).id # => "2026-11-21"
    #   store.insert("reports", id: "2026-11-21", skip_colliding: true) # => nil
    def insert(queue, **settings)
      modify(Modification.new.insert(queue, **settings)).inserted.first
    end

    # Inserts a document, or replaces the content of the one of its id, in one step, and returns it as it is now.
    # Without an {Modification#insert_doc id} of its own that is the document of its keys. A claimant that holds the
    # document still does.
    #
    # After {ConnectionLostError} or {TimeoutError} it may be done; sent again, it replaces what others put meanwhile.
    #
    # @param namespace [String] the namespace, which need not be there: 1 to 64 characters
    # @param key [String] the primary key, up to 256 characters
    # @param settings [Hash] as {Modification#put_doc} has them: `content` or `json`, `id`, `secondary_key`
    # @return [Doc]
    # @raise (see #modify)
    # @raise [InvalidArgumentError] also for a document without a content
    # @raise [DependencyError] if another claimant holds the document, or one with other keys has its id
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.put_doc("accounts", "ann", content: { "balance" => 100 })
    #   store.put_doc("accounts", "ann", content: { "balance" => 70 }).version # => 1
    #   store.get_doc("accounts", "ann").content["balance"] # => 70
    def put_doc(namespace, key, **settings)
      modify(Modification.new.put_doc(namespace, key, **settings)).inserted_docs.first
    end

    # Does all of a modification, or nothing: inserts, changes and deletes of tasks and documents, and tasks and
    # documents that have to be as they were seen.
    #
    # After {ConnectionLostError} or {TimeoutError} it is done as a whole or not at all; {#fetch} tells which. Sent
    # again, what it changed or deleted is not there at that version any more, so nothing is done twice unless it only
    # inserts tasks; give those an id of your own then.
    #
    # @param modification [Modification] what is to happen, all of it or nothing
    # @return [Modified]
    # @raise [InvalidArgumentError] for names, values and times beyond their limits, values that are no JSON texts,
    #   and what is named twice, before anything is sent
    # @raise [DependencyError] if something is not as it has to be, with all that is not ({DependencyError}), and then
    #   nothing has changed
    # @raise [WrongTypeError, IncompatibleVersionError] if the keys hold something else
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   stale = Millpond::Modification.new.delete(Millpond::TaskId.new("t", 3)).insert("outbox")
    #   begin
    #     store.modify(stale)
    #   rescue Millpond::DependencyError => error
    #     error.deletes.map(&:to_a)
    #   end # => [["t", 3]]
    #   store.are_empty?(exact: "outbox") # => true
    def modify(modification)
      native = TaskArguments.modification(modification)
      TaskResults.modified { |out, error| Native.millpond_tasks_modify(@native, native, out, error) }
    end

    # Leases one available task of these queues, or returns nil if there is none now; see {#claims} for more tasks,
    # and to wait. Of each queue one of the oldest is picked at random, the oldest with a probability of one half, so
    # that a task that fails again and again does not block the others; the order of the queues is random too.
    #
    # At least once: the task is available again when the lease is over, unless it was deleted or changed before.
    # After {ConnectionLostError} or {TimeoutError} a task may be leased that no caller received.
    #
    # @param queues [String, Enumerable<String>] names of queues, 1 to 1,000
    # @param lease [Numeric, nil] how long to lease, at most 100 years, in seconds; 30 seconds by default
    # @return [Task, nil]
    # @raise [InvalidArgumentError] for no queue and names beyond their limits
    # @raise [WrongTypeError, IncompatibleVersionError] if the keys hold something else
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.claim(["inbox", "urgent"], lease: 60).value # => 7
    #   store.claim("inbox") # => nil
    def claim(queues, lease: nil)
      claim_many(queues, 1, lease: lease).first
    end

    # Leases up to `max` available tasks, as `max` calls of {#claim} would; one step.
    #
    # After an error it is as with {#claim}.
    #
    # @param queues [String, Enumerable<String>] names of queues, 1 to 1,000
    # @param max [Integer] how many tasks at most, 1 to 1,000
    # @param lease [Numeric, nil] how long to lease, at most 100 years, in seconds; 30 seconds by default
    # @return [Array<Task>]
    # @raise (see #claim)
    # @raise [InvalidArgumentError] for a `max` of 0 or above 1,000
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   3.times { |number| store.insert("inbox", value: number) }
    #   store.claim_many("inbox", 10).map(&:value).sort # => [0, 1, 2]
    def claim_many(queues, max, lease: nil)
      queues = names(queues)
      lease_ms = TaskArguments.milliseconds("lease", lease)
      max = Convert.size("max", max)
      TaskResults.tasks do |out, error|
        Native.millpond_tasks_claim(@native, *queues, lease_ms, max, Batches::NO_WAIT, out, error)
      end
    end

    # The loop of a claimant: batches of leased tasks. Asking for the next batch changes nothing about the one before:
    # its tasks are leased until they are deleted or changed, or until the lease is over. So a loop that is left by an
    # exception or by `break` leaves its tasks leased. Waiting costs the server almost nothing.
    #
    # @param queues [String, Enumerable<String>] names of queues, 1 to 1,000
    # @param max [Integer] how many tasks at most, 1 to 1,000
    # @param wait [Numeric, nil] how long to wait when no task is available, in seconds; without it the loop ends
    #   then; `Float::INFINITY` waits without limit
    # @param lease [Numeric, nil] how long tasks are leased, in seconds; 30 seconds by default
    # @yieldparam tasks [Array<Task>]
    # @return [self] or, without a block, an Enumerator
    # @raise (see #claim)
    # @raise [CancelledError] for an interrupt that `Thread.handle_interrupt` holds back
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   3.times { |number| store.insert("print", value: { "page" => number }) }
    #   store.claims("print", max: 2) do |tasks|
    #     store.modify(tasks.reduce(Millpond::Modification.new) { |done, task| done.delete(task) })
    #   end
    #   store.are_empty?(exact: "print") # => true
    #   store.claims("print", wait: 0.01).first # => nil
    def claims(queues, max: 1, wait: nil, lease: nil)
      names = names(queues)
      lease_ms = TaskArguments.milliseconds("lease", lease)
      size = Convert.size("max", max)
      wait_ms = Batches.wait_ms(wait)
      return enum_for(:claims, queues, max: max, wait: wait, lease: lease) unless block_given?

      claims = Call.handle(Native::TasksClaims) do |out, error|
        Native.millpond_tasks_claims_new(@native, *names, lease_ms, size, wait_ms, out, error)
      end
      while (tasks = next_tasks(claims))
        yield tasks
      end
      self
    ensure
      claims&.free
    end

    # A worker for these queues, which renews what it works on, retries what failed, and moves what fails too often to
    # the error queue. See {Worker}.
    #
    # @param queues [String, Enumerable<String>] names of queues, 1 to 1,000
    # @param concurrency [Integer] how many jobs `run` works on at a time, 1 or more
    # @param prefetch [Integer] how many more jobs `run` holds ready, so that one step leases several
    # @param timeout [Numeric, nil] how long a handler may work, in seconds
    # @param wait [Numeric, nil] how long `jobs` waits for a task when none is available, in seconds; without it the
    #   loop ends then; `Float::INFINITY` waits without limit
    # @param lease [Numeric, nil] how long a task is leased, in seconds; 30 seconds by default. A native thread renews
    #   it three times a lease
    # @param backoff [Numeric, nil] how long a task is delayed after its first failure, in seconds; then twice as long
    #   each time, each time minus a random part of up to a half; 30 seconds by default
    # @param backoff_max [Numeric, nil] how long a failed task is delayed at most, in seconds; 1 hour by default
    # @param max_attempts [Integer] after this many attempts a task goes to the error queue; 0 is never
    # @param max_crashes [Integer] after this many leases in a row that ran out a task goes to the error queue and to
    #   no handler, as it may be what kills the workers; 0 is never
    # @param error_queue [String, nil] where tasks go that failed too often; the queue that each is in with `/err`
    #   behind it, by default
    # @return [Worker]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox", lease: 60, max_attempts: 5).drain { |job| job.delete.insert("outbox") }
    #   store.queues.to_a # => [["outbox", 1]]
    def worker(queues, concurrency: 1, prefetch: 0, timeout: nil, wait: nil, lease: nil, backoff: nil,
               backoff_max: nil, max_attempts: 20, max_crashes: 3, error_queue: nil)
      options = Convert.options(Native::TasksWorkerOptions, concurrency: concurrency, prefetch: prefetch,
                                                            timeout: timeout, wait: wait, lease: lease,
                                                            backoff: backoff, backoff_max: backoff_max,
                                                            max_attempts: max_attempts, max_crashes: max_crashes,
                                                            error_queue: error_queue)
      Worker.new(@native, names(queues), concurrency, options)
    end

    # Renews the leases of tasks and documents, all of them or none, for `lease` from now, and returns their new
    # versions, and which of the tasks somebody has {#cancel cancelled}.
    #
    # After {ConnectionLostError} or {TimeoutError} all may be renewed, at versions that no caller received.
    #
    # @param tasks [Task, TaskId, Enumerable<Task, TaskId>] tasks, or their ids and versions
    # @param docs [Doc, DocId, Enumerable<Doc, DocId>] documents, or their namespaces, ids and versions
    # @param lease [Numeric, nil] how long to lease, at most 100 years, in seconds; 30 seconds by default
    # @return [Renewed]
    # @raise [InvalidArgumentError] for nothing to renew, more than 100,000 and what is named twice
    # @raise [DependencyError] if one of them is not there at that version or another claimant holds it, and then
    #   nothing has changed
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", id: "t")
    #   task = store.claim("inbox")
    #   store.renew(task, lease: 60).tasks.map(&:to_a) # => [["t", 2]]
    def renew(tasks = [], docs: [], lease: nil)
      tasks = TaskArguments.ids("tasks", tasks, TaskId, Task)
      docs = TaskArguments.ids("docs", docs, DocId, Doc)
      lease_ms = TaskArguments.milliseconds("lease", lease)
      lists = [*TaskArguments.id_list(Native::TaskId, tasks), *TaskArguments.id_list(Native::DocId, docs)]
      TaskResults.renewed(tasks, docs) do |*places|
        Native.millpond_tasks_renew(@native, *lists, lease_ms, *places)
      end
    end

    # The time on the clock that decides when tasks are available and leases are over, in milliseconds since the Unix
    # epoch.
    #
    # @return [Integer]
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox").at_ms <= store.time # => true
    def time
      Call.number(:uint64) { |out, error| Native.millpond_tasks_time(@native, out, error) }
    end

    private

    def names(queues)
      TaskArguments.names("queues", queues, Convert::LIMITS[:queues])
    end

    def next_tasks(claims)
      TaskResults.of { |out, error| Native.millpond_tasks_claims_next(claims, out, error) }&.tasks
    end
  end
end
