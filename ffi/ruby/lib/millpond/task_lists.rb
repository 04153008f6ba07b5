# frozen_string_literal: true

require "millpond/task_results"

module Millpond
  class TaskStore
    # The tasks of these ids, from any queue, in the same order; missing ones are left out.
    #
    # @param ids [String, Enumerable<String>] ids, 1 to 10,000
    # @return [Array<Task>]
    # @raise [InvalidArgumentError] for no id, more than 10,000 and ids beyond their limits
    # @raise [WrongTypeError, IncompatibleVersionError] if the keys hold something else
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", id: "a")
    #   store.fetch(%w[b a]).map(&:id) # => ["a"]
    def fetch(ids)
      ids = TaskArguments.names("ids", ids, Convert::LIMITS[:ids])
      TaskResults.tasks { |out, error| Native.millpond_tasks_fetch(@native, *ids, out, error) }
    end

    # Cancels tasks that somebody has claimed: tells the claimant to stop, with the next renewal
    # ({Renewed#cancelled}), where a worker finds it. Returns of each id whether somebody has the task and will be
    # told; a task that nobody has claimed is not cancelled but deleted. The task itself stays as it is: its claimant
    # ends it as it likes, and is not refused. The next claim of the task and each change take the note away.
    #
    # After {ConnectionLostError} or {TimeoutError} it may be done; cancelling again is safe.
    #
    # @param ids [String, Enumerable<String>] ids, 1 to 10,000
    # @return [Array<Boolean>]
    # @raise (see #fetch)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   task = store.insert("inbox")
    #   store.cancel(task.id) # => [false]
    #   task = store.claim("inbox")
    #   store.cancel(task.id) # => [true]
    #   store.renew(task).cancelled == [task.id] # => true
    def cancel(ids)
      list, count = TaskArguments.names("ids", ids, Convert::LIMITS[:ids])
      out = FFI::MemoryPointer.new(:bool, [count, 1].max)
      Call.check { |error| Native.millpond_tasks_cancel(@native, list, count, out, error) }
      out.read_array_of_uint8(count).map { |flag| flag == 1 }
    end

    # A page of a queue's tasks, by time and id. Pages are not one snapshot: a task that is claimed between two pages
    # may be on both or on none.
    #
    # @param queue [String] the queue's name, 1 to 64 KiB
    # @param after [Position, Task, nil] what the page comes after, such as the `next` of the one before; without it,
    #   the first
    # @param limit [Integer, nil] reads at most this many tasks; 1,000 by default, at most 10,000
    # @param claimant [String, nil] only tasks that are this claimant's or available. A page may hold fewer tasks
    #   then, or none, and still have a next one
    # @param omit_values [Boolean] leaves the values out. A change that is made of such a task removes its value
    # @return [TaskPage]
    # @raise [InvalidArgumentError] for names beyond their limits and a limit of 0 or above 10,000
    # @raise [WrongTypeError, IncompatibleVersionError] if the keys hold something else
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   3.times { |number| store.insert("inbox", id: "t#{number}", at_ms: number) }
    #   page = store.list("inbox", limit: 2)
    #   page.tasks.map(&:id) # => ["t0", "t1"]
    #   page = store.list("inbox", limit: 2, after: page.next)
    #   [page.tasks.map(&:id), page.next] # => [["t2"], nil]
    def list(queue, after: nil, limit: nil, claimant: nil, omit_values: false)
      queue = Convert.sized("queue", queue)
      query = TaskArguments.query(Native::TaskQuery, Native::TaskPosition, after, [Position, Task],
                                  limit: limit, claimant: claimant, omit_values: omit_values)
      page = TaskResults.of { |out, error| Native.millpond_tasks_list(@native, *queue, query, out, error) }
      TaskPage.new(page.tasks, page.next).freeze
    end

    # The queues that hold tasks or are paused, by name, with how many tasks: those that are asked for, or all.
    #
    # @param exact [String, Enumerable<String>] names, up to 10,000 with the prefixes
    # @param prefixes [String, Enumerable<String>] what names begin with, up to 10,000 with the names
    # @param limit [Integer, nil] at most this many, the first by name; 100,000 by default
    # @return [Hash{String => Integer}] by name
    # @raise (see #queue_stats)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   %w[mail/in mail/out print].each { |queue| store.insert(queue) }
    #   store.queues(exact: "print", prefixes: ["mail/"])["print"] # => 1
    #   store.queues(prefixes: "mail/").to_a # => [["mail/in", 1], ["mail/out", 1]]
    def queues(exact: [], prefixes: [], limit: nil)
      queue_stats(exact: exact, prefixes: prefixes, limit: limit).to_h { |stats| [stats.queue, stats.size] }
    end

    # Whether none of these queues holds a task.
    #
    # @param exact [String, Enumerable<String>] names, up to 10,000 with the prefixes
    # @param prefixes [String, Enumerable<String>] what names begin with, up to 10,000 with the names
    # @return [Boolean]
    # @raise (see #queue_stats)
    # @raise [InvalidArgumentError] for a filter that names nothing
    #
    # @example
    #   Millpond.connect("memory:").tasks("shop").are_empty?(prefixes: "mail/") # => true
    def are_empty?(exact: [], prefixes: [])
      filter = TaskArguments.filter(exact, prefixes)
      Call.number(:bool) { |out, error| Native.millpond_tasks_are_empty(@native, filter, out, error) }
    end

    # What is in the queues that hold tasks or are paused, those that are asked for or all, by name: exact at one
    # point in time for each queue, and counted without reading the tasks.
    #
    # @param exact [String, Enumerable<String>] names, up to 10,000 with the prefixes
    # @param prefixes [String, Enumerable<String>] what names begin with, up to 10,000 with the names
    # @param limit [Integer, nil] at most this many, the first by name; 100,000 by default
    # @return [Array<QueueStats>]
    # @raise [InvalidArgumentError] for names beyond their limits and a limit of 0 or above 100,000
    # @raise [WrongTypeError, IncompatibleVersionError] if the keys hold something else
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   2.times { store.insert("inbox") }
    #   store.claim("inbox")
    #   store.queue_stats.map { |stats| [stats.queue, stats.available, stats.claimed] } # => [["inbox", 1, 1]]
    def queue_stats(exact: [], prefixes: [], limit: nil)
      filter = TaskArguments.filter(exact, prefixes, limit)
      TaskResults.of { |out, error| Native.millpond_tasks_queue_stats(@native, filter, out, error) }.queues
    end

    # Pauses a queue: claims find nothing in it, as if it held no available task, until it is {#resume resumed}.
    # Everything else goes on: tasks are inserted, changed and renewed, leases end and run out, and workers finish the
    # tasks that they have. The pause is kept in the store, whether the queue holds tasks or not, and {#queue_stats}
    # shows it.
    #
    # @param queue [String] the queue's name, 1 to 64 KiB
    # @return [nil]
    # @raise [InvalidArgumentError] for names beyond their limits
    # @raise [WrongTypeError, IncompatibleVersionError] if the keys hold something else
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox")
    #   store.pause("inbox")
    #   store.claim("inbox") # => nil
    #   store.queue_stats.first.paused # => true
    def pause(queue)
      queue = Convert.sized("queue", queue)
      Call.check { |error| Native.millpond_tasks_pause(@native, *queue, error) }
      nil
    end

    # Ends the {#pause} of a queue, if it is paused, and wakes those who wait for its tasks.
    #
    # @param queue [String] the queue's name, 1 to 64 KiB
    # @return [nil]
    # @raise (see #pause)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.pause("inbox")
    #   store.insert("inbox", id: "t")
    #   store.resume("inbox")
    #   store.claim("inbox").id # => "t"
    def resume(queue)
      queue = Convert.sized("queue", queue)
      Call.check { |error| Native.millpond_tasks_resume(@native, *queue, error) }
      nil
    end

    # Deletes tasks of a queue that a filter lets through: one step, which looks at up to `limit` tasks by time and
    # id, and returns how many it deleted and what the next step comes after. So a caller sees the progress, stops by
    # making no further step, and keeps to a rate by waiting between two of them. Tasks that another claimant holds
    # stay, unless `include_held` is set.
    #
    # After {ConnectionLostError} or {TimeoutError} the step may be done. It can be made again: it finds what is left.
    #
    # @param queue [String] the queue's name, 1 to 64 KiB
    # @param after [Position, Task, nil] goes on after this position, such as the one that the step before returned
    # @param limit [Integer, nil] looks at up to this many tasks; 1,000 by default, at most 2,000. A server serves
    #   nobody else meanwhile, for about 8 ms with 1,000 of them
    # @param available [Boolean] only tasks that can be claimed now, and those of the other states that are set
    # @param claimed [Boolean] only tasks that cannot be claimed now and were claimed before, and those of the other
    #   states that are set
    # @param future [Boolean] only tasks that cannot be claimed now and never were, and those of the other states that
    #   are set
    # @param claimant [String, nil] only tasks that are this claimant's or available
    # @param err [String, nil] only tasks whose `err` begins like this
    # @param include_held [Boolean] also tasks that another claimant holds: those that it has leased, whose jobs are
    #   lost then, and those that it has put off or inserted for a time in the future
    # @return [Swept]
    # @raise [InvalidArgumentError] for names beyond their limits and a limit of 0 or above 2,000
    # @raise [WrongTypeError, IncompatibleVersionError] if the keys hold something else
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   3.times { |number| store.insert("inbox", id: "t#{number}", at_ms: number) }
    #   after = nil
    #   loop do
    #     swept = store.purge("inbox", limit: 2, after: after)
    #     after = swept.next or break
    #   end
    #   store.are_empty?(exact: "inbox") # => true
    def purge(queue, after: nil, limit: nil, available: false, claimed: false, future: false, claimant: nil,
              err: nil, include_held: false)
      names = Convert.sized("queue", queue)
      sweep(:millpond_tasks_purge, names, after, limit: limit, available: available, claimed: claimed,
            future: future, claimant: claimant, err: err, include_held: include_held)
    end

    # Moves tasks of a queue that a filter lets through to another queue, some in one step as {#purge} deletes them.
    # They keep everything but their version: their time, their claimant, attempts and err as well. A job of a task
    # that is moved is lost.
    #
    # After {ConnectionLostError} or {TimeoutError} the step may be done. It can be made again: it finds what is left.
    #
    # @param queue [String] the queue's name, 1 to 64 KiB
    # @param to [String] the queue where the tasks go, which need not be there: 1 to 64 KiB
    # @param after [Position, Task, nil] goes on after this position, such as the one that the step before returned
    # @param limit [Integer, nil] looks at up to this many tasks; 1,000 by default, at most 2,000. A server serves
    #   nobody else meanwhile, for about 8 ms with 1,000 of them
    # @param available [Boolean] only tasks that can be claimed now, and those of the other states that are set
    # @param claimed [Boolean] only tasks that cannot be claimed now and were claimed before, and those of the other
    #   states that are set
    # @param future [Boolean] only tasks that cannot be claimed now and never were, and those of the other states that
    #   are set
    # @param claimant [String, nil] only tasks that are this claimant's or available
    # @param err [String, nil] only tasks whose `err` begins like this
    # @param include_held [Boolean] also tasks that another claimant holds: those that it has leased, whose jobs are
    #   lost then, and those that it has put off or inserted for a time in the future
    # @return [Swept]
    # @raise (see #purge)
    # @raise [InvalidArgumentError] for a move to the same queue
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   2.times { store.insert("inbox") }
    #   store.move_tasks("inbox", "later").tasks # => 2
    def move_tasks(queue, to, after: nil, limit: nil, available: false, claimed: false, future: false, claimant: nil,
                   err: nil, include_held: false)
      names = Convert.sized("queue", queue) + Convert.sized("to", to)
      sweep(:millpond_tasks_move_tasks, names, after, limit: limit, available: available, claimed: claimed,
            future: future, claimant: claimant, err: err, include_held: include_held)
    end

    # Moves tasks as {#move_tasks} does, and takes away their attempts and err: for those of an error queue, such as
    # `inbox/err`, that are to be tried again. As they keep their time, those that are available count as old as they
    # are.
    #
    # One call is one step, of up to the limit of its filter. To redrive at a rate, such as 100 tasks a second, set
    # that as the limit and wait a second between two calls, until a step returns no next position. Stop whenever you
    # like: each step is done as a whole, and what is left stays where it is.
    #
    # After {ConnectionLostError} or {TimeoutError} the step may be done. It can be made again: it finds what is left.
    #
    # @param queue [String] the queue's name, 1 to 64 KiB
    # @param to [String] the queue where the tasks go, which need not be there: 1 to 64 KiB
    # @param after [Position, Task, nil] goes on after this position, such as the one that the step before returned
    # @param limit [Integer, nil] looks at up to this many tasks; 1,000 by default, at most 2,000. A server serves
    #   nobody else meanwhile, for about 8 ms with 1,000 of them
    # @param available [Boolean] only tasks that can be claimed now, and those of the other states that are set
    # @param claimed [Boolean] only tasks that cannot be claimed now and were claimed before, and those of the other
    #   states that are set
    # @param future [Boolean] only tasks that cannot be claimed now and never were, and those of the other states that
    #   are set
    # @param claimant [String, nil] only tasks that are this claimant's or available
    # @param err [String, nil] only tasks whose `err` begins like this
    # @param include_held [Boolean] also tasks that another claimant holds: those that it has leased, whose jobs are
    #   lost then, and those that it has put off or inserted for a time in the future
    # @return [Swept]
    # @raise (see #move_tasks)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   ["timeout", "no such user"].each { |err| store.insert("inbox/err", attempt: 3, err: err) }
    #   store.redrive("inbox/err", "inbox", err: "timeout").tasks # => 1
    #   store.claim("inbox").attempt # => 0
    def redrive(queue, to, after: nil, limit: nil, available: false, claimed: false, future: false, claimant: nil,
                err: nil, include_held: false)
      names = Convert.sized("queue", queue) + Convert.sized("to", to)
      sweep(:millpond_tasks_redrive, names, after, limit: limit, available: available, claimed: claimed,
            future: future, claimant: claimant, err: err, include_held: include_held)
    end

    # Leases all documents of these primary keys, or none if another claimant holds one of them. They come in the
    # order of the keys, those of one key by secondary key. Their holder can claim them again.
    #
    # After {ConnectionLostError} or {TimeoutError} they may be leased; claiming them again is safe.
    #
    # @param namespace [String] the namespace of documents, up to 64 characters
    # @param keys [String, Enumerable<String>] primary keys of documents, 1 to 1,000 of up to 256 characters
    # @param lease [Numeric, nil] how long to lease, at most 100 years, in seconds; 30 seconds by default
    # @return [Array<Doc>]
    # @raise [InvalidArgumentError] for an empty key, no key or more than 1,000, and names beyond their limits
    # @raise [DependencyError] if another claimant holds one of the documents
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   client = Millpond.connect("memory:")
    #   store = client.tasks("shop")
    #   store.modify(Millpond::Modification.new.insert_doc("accounts", "ann", content: 7))
    #   store.claim_docs("accounts", "ann", lease: 60).map(&:content) # => [7]
    #   client.tasks("shop").claim_docs("accounts", "ann") # raises Millpond::DependencyError
    def claim_docs(namespace, keys, lease: nil)
      names = [*Convert.sized("namespace", namespace), *TaskArguments.names("keys", keys)]
      lease_ms = TaskArguments.milliseconds("lease", lease)
      TaskResults.docs { |out, error| Native.millpond_tasks_claim_docs(@native, *names, lease_ms, out, error) }
    end

    # The document of these keys that was inserted without an id of its own, or nil if it is not there. A document
    # with an id of its own is found by that ({#fetch_docs}).
    #
    # @param namespace [String] the namespace of documents, up to 64 characters
    # @param key [String] the primary key of documents, up to 256 characters
    # @param secondary_key [String] the secondary key
    # @return [Doc, nil]
    # @raise [InvalidArgumentError] for an empty key and names beyond their limits
    # @raise [WrongTypeError, IncompatibleVersionError] if the keys hold something else
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.put_doc("rates", "eur", content: 1.1, secondary_key: "2026")
    #   store.get_doc("rates", "eur", secondary_key: "2026").content # => 1.1
    #   store.get_doc("rates", "eur") # => nil
    def get_doc(namespace, key, secondary_key: "")
      names = [*Convert.sized("namespace", namespace), *Convert.sized("key", key),
               *Convert.sized("secondary_key", secondary_key)]
      TaskResults.docs { |out, error| Native.millpond_tasks_get_doc(@native, *names, out, error) }.first
    end

    # The documents of these ids, in the same order; missing ones are left out.
    #
    # @param namespace [String] the namespace of documents, up to 64 characters
    # @param ids [String, Enumerable<String>] ids, 1 to 10,000
    # @return [Array<Doc>]
    # @raise (see #fetch)
    #
    # @example
    #   Millpond.connect("memory:").tasks("shop").fetch_docs("accounts", %w[a b]) # => []
    def fetch_docs(namespace, ids)
      namespace = Convert.sized("namespace", namespace)
      ids = TaskArguments.names("ids", ids, Convert::LIMITS[:ids])
      TaskResults.docs { |out, error| Native.millpond_tasks_fetch_docs(@native, *namespace, *ids, out, error) }
    end

    # A page of a namespace's documents, by primary key, secondary key and id.
    #
    # @param namespace [String] the namespace of documents, up to 64 characters
    # @param keys [Range<String>, nil] primary keys, such as `"b"..."d"`, `"b"...` or `..."d"`: from the first one on,
    #   and up to the last one without it, by their bytes
    # @param after [DocPosition, Doc, nil] what the page comes after, such as the `next` of the one before; without
    #   it, the first
    # @param limit [Integer, nil] at most this many; 1,000 by default, at most 10,000
    # @param omit_contents [Boolean] leaves the contents out
    # @return [DocPage]
    # @raise (see #list)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   opened = %w[ann bob cy].reduce(Millpond::Modification.new) do |accounts, name|
    #     accounts.insert_doc("accounts", name)
    #   end
    #   store.modify(opened)
    #   store.list_docs("accounts", keys: "b"..."c").docs.map(&:key) # => ["bob"]
    #   page = store.list_docs("accounts", limit: 2)
    #   store.list_docs("accounts", after: page.next).docs.map(&:key) # => ["cy"]
    def list_docs(namespace, keys: nil, after: nil, limit: nil, omit_contents: false)
      namespace = Convert.sized("namespace", namespace)
      settings = { limit: limit, omit_contents: omit_contents, **(keys.nil? ? {} : TaskArguments.range("keys", keys)) }
      query = TaskArguments.query(Native::DocQuery, Native::DocPosition, after, [DocPosition, Doc], settings)
      page = TaskResults.of { |out, error| Native.millpond_tasks_list_docs(@native, *namespace, query, out, error) }
      DocPage.new(page.docs, page.next_doc).freeze
    end

    # What is in the namespaces that hold documents, by name.
    #
    # @param exact [String, Enumerable<String>] names, up to 10,000 with the prefixes
    # @param prefixes [String, Enumerable<String>] what names begin with, up to 10,000 with the names
    # @param limit [Integer, nil] at most this many, the first by name; 100,000 by default
    # @return [Array<NamespaceStats>]
    # @raise (see #queue_stats)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.modify(Millpond::Modification.new.insert_doc("accounts", "ann"))
    #   store.namespace_stats.map(&:to_a) # => [["accounts", 1, 0]]
    def namespace_stats(exact: [], prefixes: [], limit: nil)
      filter = TaskArguments.filter(exact, prefixes, limit)
      TaskResults.of { |out, error| Native.millpond_tasks_namespace_stats(@native, filter, out, error) }.namespaces
    end

    private

    # Deletes tasks or moves them, as this function does.
    def sweep(function, names, after, **settings)
      filter = TaskArguments.query(Native::TaskFilter, Native::TaskPosition, after, [Position, Task], settings)
      TaskResults.of { |out, error| Native.public_send(function, @native, *names, filter, out, error) }.swept
    end
  end
end
