# frozen_string_literal: true

require "millpond/shuffle_results"
require "millpond/task_lists"
require "millpond/worker"

module Millpond
  # A store of tasks and documents by its name; made by {Client#tasks}. Everything that one modification
  # spans is in one store.
  #
  # There are two ways to change it: a *claim* leases an available task to one claimant, and a
  # *modification* inserts, changes and deletes tasks and documents, all of it or nothing. So a worker
  # deletes the task that it has done and inserts what follows in one step, and nothing is lost or
  # doubled if it dies before or after.
  #
  # Delivery is at least once: a task is available again when its lease is over. Order is not guaranteed,
  # but the oldest tasks of the highest priority come first, nearly.
  #
  # Names of queues have up to 64 KiB, ids, claimants and namespaces up to 64 characters (ids of documents
  # 1,025), values up to 16 MiB. Calls raise {InvalidArgumentError} or TypeError for wrong arguments, before
  # anything is sent, and {WrongTypeError} or {IncompatibleVersionError} if the keys hold something else.
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
      name = Convert.bytes("name", name)
      ShuffleResults.texts(Encoding::BINARY) do |out, error|
        Native.millpond_tasks_keys(name, name.bytesize, out, error)
      end
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
    # After {ConnectionLostError} or {TimeoutError} the task may or may not be there; with an id of its
    # own it can be inserted again.
    #
    # @param queue [String]
    # @param settings [Hash] as {Modification#insert} has them: `value` or `json`, `id`, `at_ms` or
    #   `delay`, `attempt`, `err`, `priority`, `ttl`, `skip_colliding`
    # @return [Task, nil] nil if it was skipped
    # @raise [DependencyError] if the id is taken
    # @raise (see Modification#insert)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: { "order" => 7 }, priority: 5).priority # => 5
    #   store.insert("reports", id: "2026-11-21", skip_colliding: true).id # => "2026-11-21"
    #   store.insert("reports", id: "2026-11-21", skip_colliding: true) # => nil
    def insert(queue, **settings)
      modify(Modification.new.insert(queue, **settings)).inserted.first
    end

    # Inserts a document, or replaces the content of the one of its id, in one step. Without an id of its
    # own that is the document of its keys. The document's claimant stays the same.
    #
    # After {ConnectionLostError} or {TimeoutError} it may be done; sent again, it replaces what others put
    # meanwhile.
    #
    # @param namespace [String]
    # @param key [String]
    # @param settings [Hash] as {Modification#put_doc} has them: `content` or `json`, `id`, `secondary_key`
    # @return [Doc] as it is now
    # @raise [DependencyError] if another claimant holds it, or a document of other keys has its id
    # @raise (see Modification#put_doc)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.put_doc("accounts", "ann", content: { "balance" => 100 })
    #   store.put_doc("accounts", "ann", content: { "balance" => 70 }).version # => 1
    #   store.get_doc("accounts", "ann").content["balance"] # => 70
    def put_doc(namespace, key, **settings)
      modify(Modification.new.put_doc(namespace, key, **settings)).inserted_docs.first
    end

    # Does all of a modification, or nothing.
    #
    # After {ConnectionLostError} or {TimeoutError} it is done as a whole or not at all; {#fetch} shows
    # which. Sent again, what it changed or deleted is not there at that version any more, so nothing is
    # done twice unless it only inserts tasks; give those an id of your own then.
    #
    # @param modification [Modification]
    # @return [Modified]
    # @raise [DependencyError] if something is not as it has to be, with a list of all that is not; then
    #   nothing has changed
    # @raise [InvalidArgumentError] for what is beyond its limits, texts that are not JSON, and what is
    #   named twice
    # @raise [TypeError] for anything but a Modification
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

    # Leases one available task of these queues; see {#claims} to wait for one.
    #
    # Of each queue one of the oldest is picked at random, the oldest with a probability of one half, so
    # that a task that fails again and again does not block the others; the order of the queues is random
    # too. The task is available again when the lease is over, unless it was deleted or changed before.
    # After {ConnectionLostError}, {TimeoutError} or an interrupt a task may be leased that no caller
    # received.
    #
    # @param queues [String, Enumerable<String>] 1 to 1,000
    # @param lease [Numeric, nil] for how many seconds (30), at most 100 years
    # @return [Task, nil] nil if none is available now
    # @raise [InvalidArgumentError, TypeError] for anything but a queue or a time
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
    # @param queues [String, Enumerable<String>] 1 to 1,000
    # @param max [Integer] tasks, 1 to 1,000
    # @param lease (see #claim)
    # @return [Array<Task>] none if none is available now
    # @raise (see #claim)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   3.times { |number| store.insert("inbox", value: number) }
    #   store.claim_many("inbox", 10).map(&:value).sort # => [0, 1, 2]
    def claim_many(queues, max, lease: nil)
      names, count = TaskArguments.names("queues", queues, Convert::LIMITS[:queues])
      lease_ms = TaskArguments.milliseconds("lease", lease)
      max = Convert.size("max", max)
      TaskResults.tasks do |out, error|
        Native.millpond_tasks_claim(@native, names, count, lease_ms, max, Batches::NO_WAIT, out, error)
      end
    end

    # The loop of a claimant: batches of leased tasks. Asking for the next batch changes nothing about
    # the one before: its tasks are leased until they are deleted or changed, or until the lease is
    # over. So a loop that is left by an exception or by `break` leaves its tasks leased.
    #
    # @param queues [String, Enumerable<String>] 1 to 1,000
    # @param max [Integer] the most tasks of a batch, 1 to 1,000
    # @param wait [Numeric, nil] without it the loop ends when nothing is available; otherwise when
    #   nothing was available for `wait` seconds; `Float::INFINITY` waits without limit. Waiting costs
    #   the server almost nothing. An interrupt that the program holds back with
    #   `Thread.handle_interrupt` ends the wait with {CancelledError}, also one that came before it.
    # @param lease (see #claim)
    # @yieldparam tasks [Array<Task>]
    # @return [self] or, without a block, an Enumerator
    # @raise [CancelledError] for an interrupt that is held back
    # @raise (see #claim)
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
      names, count = TaskArguments.names("queues", queues, Convert::LIMITS[:queues])
      lease_ms = TaskArguments.milliseconds("lease", lease)
      size = Convert.size("max", max)
      wait_ms = Batches.wait_ms(wait)
      return enum_for(:claims, queues, max: max, wait: wait, lease: lease) unless block_given?

      claims = Call.handle(Native::TasksClaims) do |out, error|
        Native.millpond_tasks_claims_new(@native, names, count, lease_ms, size, wait_ms, out, error)
      end
      while (tasks = next_tasks(claims))
        yield tasks
      end
      self
    ensure
      claims&.free
    end

    # A worker for these queues, which renews what it works on, retries what failed, and moves what
    # fails too often to the error queue. Makes no call.
    #
    # @param queues [String, Enumerable<String>] 1 to 1,000
    # @param wait [Numeric, nil] how many seconds to wait for a task when none is available, as in
    #   {#claims}, instead of ending at once
    # @param lease [Numeric, nil] for how many seconds a task is leased (30); it is renewed three times a lease
    # @param backoff [Numeric, nil] how many seconds a task is delayed after its first failure (30); then
    #   twice as long each time, each time minus a random part of up to a half
    # @param backoff_max [Numeric, nil] how many seconds it is delayed at most (an hour)
    # @param max_attempts [Integer] after this many a task goes to the error queue; 0 is never
    # @param max_claims [Integer] a task that was claimed more often since it was last inserted, changed
    #   or released goes to the error queue and to no handler, as it may be what kills the workers: only
    #   expired leases count; 0 is never
    # @param error_queue [String, nil] without it, the queue that a task is in with `/err` appended
    # @return [Worker]
    # @raise [InvalidArgumentError, TypeError] for anything but a queue, a time or a number; what is beyond
    #   its limits is refused when the work begins
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox", lease: 60, max_attempts: 5).run { |job| job.delete.insert("outbox") }
    #   store.queues.to_a # => [["outbox", 1]]
    def worker(queues, wait: nil, lease: nil, backoff: nil, backoff_max: nil, max_attempts: 0, max_claims: 0,
               error_queue: nil)
      options = TaskArguments.worker_options(wait, lease, backoff, backoff_max, max_attempts, max_claims,
                                             error_queue)
      Worker.new(@native, TaskArguments.names("queues", queues, Convert::LIMITS[:queues]), options)
    end

    # Renews the leases of tasks and documents from now, all of them or none. A {Worker} does so by
    # itself. After {ConnectionLostError} or {TimeoutError} all may be renewed, to versions that no
    # caller received.
    #
    # @param tasks [Task, TaskId, Enumerable<Task, TaskId>]
    # @param docs [Doc, DocId, Enumerable<Doc, DocId>]
    # @param lease [Numeric, nil] for how many seconds (30), at most 100 years
    # @return [Renewed] with their new versions
    # @raise [InvalidArgumentError, TypeError] for nothing to renew, what is named twice, and what is no task,
    #   no document or no time
    # @raise [DependencyError] if one of them is not there at that version or another claimant holds it,
    #   and then nothing has changed
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", id: "t")
    #   task = store.claim("inbox")
    #   store.renew(task, lease: 60).tasks.map(&:to_a) # => [["t", 2]]
    def renew(tasks = [], docs: [], lease: nil)
      tasks = TaskArguments.task_ids(tasks)
      docs = TaskArguments.doc_ids(docs)
      lease_ms = TaskArguments.milliseconds("lease", lease)
      lists = [*TaskArguments.task_list(tasks), *TaskArguments.doc_list(docs)]
      TaskResults.renewed(tasks, docs) do |*places|
        Native.millpond_tasks_renew(@native, *lists, lease_ms, *places)
      end
    end

    # The time on the clock that decides when tasks are available and leases are over.
    #
    # @return [Integer] in milliseconds since the Unix epoch
    # @raise [InvalidArgumentError] for an invalid name
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox").at_ms <= store.time # => true
    def time
      Call.number(:uint64) { |out, error| Native.millpond_tasks_time(@native, out, error) }
    end

    private

    def next_tasks(claims)
      TaskResults.of { |out, error| Native.millpond_tasks_claims_next(claims, out, error) }&.tasks
    end
  end
end
