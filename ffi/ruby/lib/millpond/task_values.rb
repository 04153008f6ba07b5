# frozen_string_literal: true

module Millpond
  # A task at a version: what deleting, depending and renewing take, besides the task itself.
  #
  # @!attribute [r] id
  #   @return [String] the task's id
  # @!attribute [r] version
  #   @return [Integer] the version that it has to have
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   task = store.insert("inbox", value: 7)
  #   store.modify(Millpond::Modification.new.delete(Millpond::TaskId.new(task.id, 0)))
  #   store.fetch(task.id) # => []
  TaskId = Struct.new(:id, :version)

  # A document at a version.
  #
  # @!attribute [r] namespace
  #   @return [String] the document's namespace
  # @!attribute [r] id
  #   @return [String] the document's id
  # @!attribute [r] version
  #   @return [Integer] the version that it has to have
  DocId = Struct.new(:namespace, :id, :version)

  # What a modification did, each list in its order.
  #
  # @!attribute [r] inserted
  #   @return [Array<Task>] the tasks that were inserted; without those that were skipped
  # @!attribute [r] changed
  #   @return [Array<Task>] the tasks that were changed, as they are now
  # @!attribute [r] inserted_docs
  #   @return [Array<Doc>] the documents that were inserted; without those that were skipped
  # @!attribute [r] changed_docs
  #   @return [Array<Doc>] the documents that were changed, as they are now
  Modified = Struct.new(:inserted, :changed, :inserted_docs, :changed_docs)

  # What was renewed, in the order of the arguments.
  #
  # @!attribute [r] tasks
  #   @return [Array<TaskId>] the tasks at their new versions
  # @!attribute [r] docs
  #   @return [Array<DocId>] the documents at their new versions
  # @!attribute [r] at_ms
  #   @return [Integer] until when all are held, in milliseconds since the Unix epoch
  Renewed = Struct.new(:tasks, :docs, :at_ms)

  # Where a task stands in the order of its queue: by time, and by id where that is the same.
  #
  # @!attribute [r] at_ms
  #   @return [Integer] the task's `at_ms`
  # @!attribute [r] id
  #   @return [String] the task's id
  Position = Struct.new(:at_ms, :id)

  # One page of a queue.
  #
  # @!attribute [r] tasks
  #   @return [Array<Task>] the tasks, by time and id
  # @!attribute [r] next
  #   @return [Position, nil] what the next page comes after; nil for the last page
  TaskPage = Struct.new(:tasks, :next)

  # Where a document stands in the order of its namespace.
  #
  # @!attribute [r] key
  #   @return [String] the document's primary key
  # @!attribute [r] secondary_key
  #   @return [String] the document's secondary key
  # @!attribute [r] id
  #   @return [String] the document's id
  DocPosition = Struct.new(:key, :secondary_key, :id)

  # One page of a namespace.
  #
  # @!attribute [r] docs
  #   @return [Array<Doc>] the documents, by primary key, secondary key and id
  # @!attribute [r] next
  #   @return [DocPosition, nil] what the next page comes after; nil for the last page
  DocPage = Struct.new(:docs, :next)

  # What is in a queue: `size` is the sum of `available`, `claimed` and `future`.
  #
  # @!attribute [r] queue
  #   @return [String] the queue's name
  # @!attribute [r] size
  #   @return [Integer] all tasks
  # @!attribute [r] available
  #   @return [Integer] tasks that can be claimed now
  # @!attribute [r] claimed
  #   @return [Integer] tasks that cannot be claimed now and were claimed before
  # @!attribute [r] future
  #   @return [Integer] tasks that cannot be claimed now and never were
  # @!attribute [r] max_claims
  #   @return [Integer] how often the task was claimed that was claimed most
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.insert("inbox", value: 7)
  #   store.insert("inbox", value: 8, delay: 60)
  #   store.queue_stats.map(&:to_a) # => [["inbox", 2, 1, 0, 1, 0]]
  QueueStats = Struct.new(:queue, :size, :available, :claimed, :future, :max_claims)

  # What is in a namespace.
  #
  # @!attribute [r] namespace
  #   @return [String] the namespace's name
  # @!attribute [r] size
  #   @return [Integer] all documents
  # @!attribute [r] claimed
  #   @return [Integer] documents that are claimed now
  NamespaceStats = Struct.new(:namespace, :size, :claimed)
end
