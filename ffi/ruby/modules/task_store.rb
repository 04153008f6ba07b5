# frozen_string_literal: true

require "millpond/shuffle_results"
require "millpond/task_lists"
require "millpond/worker"

module Millpond
  # core
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
    # The Redis keys of the scripts of a store, for use with your own connections. Makes no call. There are
    # ten; a script takes as many of the first ones as the comment at the end of its source names.
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

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: { "order" => 7 }, priority: 5).priority # => 5
    #   store.insert("reports", id: "2026-11-21", skip_colliding: true).id # => "2026-11-21"
    #   store.insert("reports", id: "2026-11-21", skip_colliding: true) # => nil
    def insert(queue, **settings)
      modify(Modification.new.insert(queue, **settings)).inserted.first
    end

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.put_doc("accounts", "ann", content: { "balance" => 100 })
    #   store.put_doc("accounts", "ann", content: { "balance" => 70 }).version # => 1
    #   store.get_doc("accounts", "ann").content["balance"] # => 70
    def put_doc(namespace, key, **settings)
      modify(Modification.new.put_doc(namespace, key, **settings)).inserted_docs.first
    end

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   stale = Millpond::Modification.new.delete(Millpond::TaskId.new("t", 3)).insert("outbox")
    #   begin
    #     store.modify(stale)
    #   rescue Millpond::DependencyError => error
    #     error.deletes.map(&:to_a)
    #   end # => [["t", 3]]
    #   store.are_empty?(exact: "outbox") # => true
    def modify(modification) = core

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.claim(["inbox", "urgent"], lease: 60).value # => 7
    #   store.claim("inbox") # => nil
    def claim(queues, lease: nil)
      claim_many(queues, 1, lease: lease).first
    end

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

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox", value: 7)
    #   store.worker("inbox", lease: 60, max_attempts: 5).drain { |job| job.delete.insert("outbox") }
    #   store.queues.to_a # => [["outbox", 1]]
    def worker(queues, concurrency: 1, prefetch: 0, timeout: nil, budget: nil, wait: nil, lease: nil, backoff: nil,
               backoff_max: nil, max_attempts: 20, max_crashes: 3, error_queue: nil)
      options = Convert.options(Native::TasksWorkerOptions, concurrency: concurrency, prefetch: prefetch,
                                                            timeout: timeout, budget: budget, wait: wait, lease: lease,
                                                            backoff: backoff, backoff_max: backoff_max,
                                                            max_attempts: max_attempts, max_crashes: max_crashes,
                                                            error_queue: error_queue)
      Worker.new(@native, names(queues), concurrency, options)
    end

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

    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   store.insert("inbox").at_ms <= store.time # => true
    def time = core

    private

    def names(queues)
      TaskArguments.names("queues", queues, Convert::LIMITS[:queues])
    end

    def next_tasks(claims)
      TaskResults.of { |out, error| Native.millpond_tasks_claims_next(claims, out, error) }&.tasks
    end
  end
end
