# frozen_string_literal: true

require "millpond/task_results"

module Millpond
  class TaskStore
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", id: "a")
    #   store.fetch(%w[b a]).map(&:id) # => ["a"]
    def fetch(ids) = core

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   task = store.insert("inbox")
    #   store.cancel(task.id) # => [false]
    #   task = store.claim("inbox")
    #   store.cancel(task.id) # => [true]
    #   store.renew(task).cancelled == [task.id] # => true
    def cancel(ids, force: false) = core

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

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   %w[mail/in mail/out print].each { |queue| store.insert(queue) }
    #   store.queues(exact: "print", prefixes: ["mail/"])["print"] # => 1
    #   store.queues(prefixes: "mail/").to_a # => [["mail/in", 1], ["mail/out", 1]]
    def queues(exact: [], prefixes: [], limit: nil)
      queue_stats(exact: exact, prefixes: prefixes, limit: limit).to_h { |stats| [stats.queue, stats.size] }
    end

    # @example
    #   Millpond.connect("memory:").tasks("shop").are_empty?(prefixes: "mail/") # => true
    def are_empty?(exact: [], prefixes: [])
      filter = TaskArguments.filter(exact, prefixes)
      Call.number(:bool) { |out, error| Native.millpond_tasks_are_empty(@native, filter, out, error) }
    end

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   2.times { store.insert("inbox") }
    #   store.claim("inbox")
    #   store.queue_stats.map { |stats| [stats.queue, stats.available, stats.claimed] } # => [["inbox", 1, 1]]
    def queue_stats(exact: [], prefixes: [], limit: nil)
      filter = TaskArguments.filter(exact, prefixes, limit)
      TaskResults.of { |out, error| Native.millpond_tasks_queue_stats(@native, filter, out, error) }.queues
    end

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox")
    #   store.pause("inbox")
    #   store.claim("inbox") # => nil
    #   store.queue_stats.first.paused # => true
    def pause(queue) = core

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.pause("inbox")
    #   store.insert("inbox", id: "t")
    #   store.resume("inbox")
    #   store.claim("inbox").id # => "t"
    def resume(queue) = core

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

    # @example
    #   client = Millpond.connect("memory:")
    #   store = client.tasks("shop")
    #   store.modify(Millpond::Modification.new.insert_doc("accounts", "ann", content: 7))
    #   store.claim_docs("accounts", "ann", lease: 60).map(&:content) # => [7]
    #   client.tasks("shop").claim_docs("accounts", "ann") # raises Millpond::DependencyError
    def claim_docs(namespace, keys, lease: nil) = core

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.put_doc("rates", "eur", content: 1.1, secondary_key: "2026")
    #   store.get_doc("rates", "eur", secondary_key: "2026").content # => 1.1
    #   store.get_doc("rates", "eur") # => nil
    def get_doc(namespace, key, secondary_key: "") = core

    # @example
    #   Millpond.connect("memory:").tasks("shop").fetch_docs("accounts", %w[a b]) # => []
    def fetch_docs(namespace, ids) = core

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

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.modify(Millpond::Modification.new.insert_doc("accounts", "ann"))
    #   store.namespace_stats.map(&:to_a) # => [["accounts", 1, 0]]
    def namespace_stats(exact: [], prefixes: [], limit: nil)
      filter = TaskArguments.filter(exact, prefixes, limit)
      TaskResults.of { |out, error| Native.millpond_tasks_namespace_stats(@native, filter, out, error) }.namespaces
    end

    private

    # Deletes or moves tasks, with this function of the library.
    def sweep(function, names, after, **settings)
      filter = TaskArguments.query(Native::TaskFilter, Native::TaskPosition, after, [Position, Task], settings)
      TaskResults.of { |out, error| Native.public_send(function, @native, *names, filter, out, error) }.swept
    end
  end
end
