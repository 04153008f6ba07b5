# frozen_string_literal: true

require "millpond/doc"
require "millpond/task"

module Millpond
  # Inserts, changes, deletes and dependencies on tasks and documents, for {TaskStore#modify}: all of them apply or
  # none does. At most 100,000 entries; a task or document may be named only once.
  #
  # Each method adds an entry and returns the modification itself.
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   task = store.insert("inbox", value: { "order" => 7 })
  #   done = Millpond::Modification.new.delete(task).insert("outbox", value: { "invoice" => 7 })
  #   store.modify(done).inserted.map(&:queue) # => ["outbox"]
  #   store.modify(done) # raises Millpond::DependencyError
  class Modification
    # @api private
    attr_reader :rows

    # Creates an empty modification, which changes nothing.
    #
    # @example
    #   Millpond::Modification.new.size # => 0
    def initialize
      @rows = { inserts: [], changes: [], deletes: [], depends: [],
                doc_inserts: [], doc_puts: [], doc_changes: [], doc_deletes: [], doc_depends: [] }.freeze
    end

    # Inserts a task. Refused if its id is taken: by a task in any queue, or by one that has ended and whose {#insert
    # deduplication window} is not over.
    #
    # @param queue [String] the name of the queue, which need not exist: 1 to 64 KiB
    # @param value [Object] any JSON value, at most 16 MiB
    # @param json [String, nil] its value: a JSON text, which is kept byte for byte
    # @param id [String, nil] its id, unique in the store: 1 to 64 characters. 16 random hexadecimal digits by
    #   default. With an id of its own, an insert can be repeated as long as the task exists: it is refused or {#insert
    #   left out}, and nothing is done twice. When the task has ended its id is free, and the same insert adds a new
    #   task, unless the {#insert deduplication window} of the one that has ended is not over
    # @param at_ms [Integer, Time, nil] the time from which it can be claimed, in milliseconds since the Unix epoch; a
    #   time in the past counts towards its age
    # @param delay [Numeric, nil] how long until it can be claimed, by the engine's clock, in seconds
    # @param attempt [Integer] how often it was tried before
    # @param err [String] what went wrong before
    # @param priority [Integer] 0, the default, to 9: of a queue's available tasks, those with the highest priority
    #   are claimed first
    # @param ttl [Numeric, nil] how long until it is deleted, whether or not it is done or leased, in seconds; without
    #   limit by default
    # @param dedup_window [Numeric, nil] how long its {#insert id} stays taken after it has ended, by the engine's
    #   clock, in seconds: 0, the default, up to 7 days, in milliseconds. For that long an insert of the same id is
    #   refused or {#insert left out} as if the task still existed, at version 0. So a producer that received no reply
    #   can repeat its insert for that long after the task is done. A task ends when it is deleted: by the end of its
    #   job or another modification, a purge, a cancellation by force, or when its time to live is over. A task that is
    #   retried, changed, moved or redriven keeps its window, and one in an error queue has not ended. A store keeps the
    #   ids of up to 1,000,000 ended tasks; beyond that, the one that would be free first is free early
    # @param headers [Hash, Enumerable<Array(String, String)>, nil] its headers, all of them: names with any bytes as
    #   their values, as {#insert header} adds them
    # @param skip_colliding [Boolean] leaves this task out if its id is taken, instead of refusing the whole
    #   modification
    # @return [self]
    # @raise [InvalidArgumentError] for NaN, infinities and texts that are not UTF-8; values that are too large are
    #   refused by the step
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   later = Millpond::Modification.new.insert("inbox", value: [7], id: "seven", delay: 60, priority: 5)
    #   store.modify(later).inserted.map { |task| [task.id, task.json] } # => [["seven", "[7]"]]
    #   store.claim("inbox") # => nil
    def insert(queue, value: JsonText::NONE, json: JsonText::NONE, id: nil, at_ms: nil, delay: nil, attempt: 0,
               err: "", priority: 0, ttl: nil, dedup_window: nil, headers: nil, skip_colliding: false)
      named = Convert.fields(Native::NewTask, queue: queue, err: err, at_ms: at_ms, delay: delay, ttl: ttl,
                                              dedup_window: dedup_window, attempt: attempt, priority: priority,
                                              skip_colliding: skip_colliding)
      named[:id] = id && Convert.bytes("id", id)
      named[:value] = JsonText.of("value", value, json) { nil }
      named[:headers] = Headers.piece(headers)
      add(:inserts, named)
    end

    # Changes a task. Refused if it does not exist at that version, or if another claimant holds it.
    #
    # @param change [TaskChange] the change to make
    # @return [self]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   task = store.insert("inbox", value: 7)
    #   store.modify(Millpond::Modification.new.change(task.change(value: 8))).changed[0].value # => 8
    def change(change)
      add(:changes, row(change, TaskChange))
    end

    # Deletes a task. Refused if it does not exist at that version, or if another claimant holds it.
    #
    # @param task [Task, TaskId] the task
    # @return [self]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   task = store.insert("inbox", value: 7)
    #   store.modify(Millpond::Modification.new.delete(task))
    #   store.are_empty?(exact: "inbox") # => true
    def delete(task)
      add(:deletes, TaskArguments.id("task", task, TaskId, Task))
    end

    # Depends on a task. Refused if it does not exist at that version; who holds it does not matter.
    #
    # @param task [Task, TaskId] the task
    # @return [self]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   config = store.insert("config", value: { "paper" => "A4" })
    #   store.claim("config")
    #   printed = Millpond::Modification.new.depend(config).insert("printed")
    #   store.modify(printed) # raises Millpond::DependencyError
    def depend(task)
      add(:depends, TaskArguments.id("task", task, TaskId, Task))
    end

    # Inserts a document. Refused if one with that id exists in its namespace, or, without an explicit {#insert_doc
    # id}, if one with its keys does.
    #
    # @param namespace [String] the namespace, which need not exist: 1 to 64 characters
    # @param key [String] the primary key, up to 256 characters
    # @param content [Object] any JSON value, at most 16 MiB; required for a document that is put
    # @param json [String, nil] its content: a JSON text, which is kept byte for byte
    # @param id [String, nil] unique in its namespace, 1 to 1,025 characters. Without it, the id is made from the
    #   keys: the primary key, followed by `|` and the secondary key if there is one. In the primary key `%` and `|` are
    #   percent-encoded, so that different keys never make the same id. Several documents with the same keys need
    #   explicit ids, and so does a document whose primary key is empty
    # @param secondary_key [String] its secondary key, up to 256 characters. It sorts documents with the same primary
    #   key
    # @param skip_colliding [Boolean] leaves this document out if its id is taken, instead of refusing the whole
    #   modification
    # @return [self]
    # @raise (see #insert)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   opened = Millpond::Modification.new.insert_doc("accounts", "ann", content: { "balance" => 7 })
    #   store.modify(opened).inserted_docs.map(&:json) # => ["{\"balance\":7}"]
    def insert_doc(namespace, key, content: JsonText::NONE, json: JsonText::NONE, id: nil, secondary_key: "",
                   skip_colliding: false)
      add_doc(:doc_inserts, namespace, key, content, json, id, secondary_key, skip_colliding)
    end

    # Inserts a document, or replaces the content of the document with that id. The document must have a content.
    # Refused if another claimant holds the existing document, and as a collision if that has other keys. The claimant
    # that holds it stays the same. The result lists it among the inserted documents.
    #
    # In the modification that ends a {Job}, a put of a document that the job holds is a change: the document must be
    # at the version that the job holds, is released, and is listed among the changed documents.
    #
    # @param namespace [String] the namespace, which need not exist: 1 to 64 characters
    # @param key [String] the primary key, up to 256 characters
    # @param content [Object] any JSON value, at most 16 MiB; required for a document that is put
    # @param json [String] a JSON text in place of a content, which is kept byte for byte
    # @param id [String, nil] as in {#insert_doc}
    # @param secondary_key [String] its secondary key, up to 256 characters. It sorts documents with the same primary
    #   key
    # @return [self]
    # @raise (see #insert)
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   rates = Millpond::Modification.new.put_doc("rates", "eur", content: 1.1).put_doc("rates", "gbp", content: 1.3)
    #   2.times { store.modify(rates) }
    #   store.list_docs("rates").docs.map(&:key) # => ["eur", "gbp"]
    def put_doc(namespace, key, content: JsonText::NONE, json: JsonText::NONE, id: nil, secondary_key: "")
      add_doc(:doc_puts, namespace, key, content, json, id, secondary_key, false)
    end

    # Changes a document. Refused if it does not exist at that version, or if another claimant holds it.
    #
    # @param change [DocChange] the change to make
    # @return [self]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   opened = Millpond::Modification.new.insert_doc("accounts", "ann", content: 7)
    #   account, = store.modify(opened).inserted_docs
    #   changed = Millpond::Modification.new.change_doc(account.change(content: account.content - 2))
    #   store.modify(changed).changed_docs.map(&:content) # => [5]
    def change_doc(change)
      add(:doc_changes, row(change, DocChange))
    end

    # Deletes a document. Refused if it does not exist at that version, or if another claimant holds it.
    #
    # @param doc [Doc, DocId] the document
    # @return [self]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   opened = Millpond::Modification.new.insert_doc("accounts", "ann")
    #   account, = store.modify(opened).inserted_docs
    #   store.modify(Millpond::Modification.new.delete_doc(account))
    #   store.list_docs("accounts").docs # => []
    def delete_doc(doc)
      add(:doc_deletes, TaskArguments.id("doc", doc, DocId, Doc))
    end

    # Depends on a document. Refused if it does not exist at that version; who holds it does not matter.
    #
    # @param doc [Doc, DocId] the document
    # @return [self]
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   seen = Millpond::DocId.new("accounts", "ann", 3)
    #   store.modify(Millpond::Modification.new.depend_doc(seen)) # raises Millpond::DependencyError
    def depend_doc(doc)
      add(:doc_depends, TaskArguments.id("doc", doc, DocId, Doc))
    end

    # How many entries there are.
    #
    # @return [Integer]
    #
    # @example
    #   Millpond::Modification.new.insert("inbox").insert("outbox").size # => 2
    def size
      @rows.each_value.sum(&:size)
    end

    private

    def add_doc(list, namespace, key, content, json, id, secondary_key, skip_colliding)
      named = Convert.fields(Native::NewDoc, key: key, secondary_key: secondary_key, skip_colliding: skip_colliding)
      named[:namespace_name] = Convert.bytes("namespace", namespace)
      named[:id] = id && Convert.bytes("id", id)
      named[:content] = JsonText.of("content", content, json) { nil }
      add(list, named)
    end

    def row(change, kind)
      Convert.one_of("change", change, kind)
      change.row
    end

    def add(list, row)
      @rows[list] << row.freeze
      self
    end
  end
end
