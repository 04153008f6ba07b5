# frozen_string_literal: true

require "millpond/modification"

module Millpond
  # What the library returns from calls of task stores, as values of Ruby; see {Convert}. Names and
  # JSON texts are UTF-8, whatever the encoding of the client.
  #
  # @api private
  module TaskResults
    # Packed as the structures of the same name.
    TASK = "J10Q4qQ3"
    DOC = "J12Q4"
    QUEUE_STATS = "J2Q5"
    NAMESPACE_STATS = "J2Q2"
    POSITION = "J2Q"
    DOC_POSITION = "J6"

    # Makes a call that returns tasks and documents, and frees them.
    #
    # @yield the out-parameters for the result and the error
    # @return [Contents, nil] nil for NULL
    def self.of
      out = FFI::MemoryPointer.new(:pointer)
      Call.check { |error| yield out, error }
      pointer = out.read_pointer
      Contents.new(Native.millpond_tasks_result_data(pointer)) unless pointer.null?
    ensure
      Native.millpond_tasks_result_free(out.read_pointer) if out
    end

    # @return [Array<Task>]
    def self.tasks(&call)
      of(&call)&.tasks || []
    end

    # @return [Array<Doc>]
    def self.docs(&call)
      of(&call).docs
    end

    # @return [Modified]
    def self.modified(&call)
      of(&call).modified
    end

    # Makes a call that renews what these say, and puts the new versions there.
    #
    # @yield the out-parameters for the versions of tasks, those of documents, the time and the error
    # @return [Renewed]
    def self.renewed(tasks, docs)
      versions = [tasks, docs].map { |ids| FFI::MemoryPointer.new(:uint64, [ids.size, 1].max) }
      at_ms = Call.number(:uint64) { |out, error| yield(*versions, out, error) }
      [tasks, docs].zip(versions) do |ids, out|
        ids.zip(out.read_array_of_uint64(ids.size)) { |id, version| id.version = version }
        ids.each(&:freeze)
      end
      Renewed.new(tasks, docs, at_ms).freeze
    end

    # Copies of what a result holds. Its texts are copied at once and cut by lengths: they lie there
    # without gaps, in the order in which they are cut here.
    class Contents
      attr_reader :tasks, :docs, :next, :next_doc, :queues, :namespaces

      def initialize(pointer)
        @data = Native::TasksData.new(pointer)
        @text = @data[:text].read_bytes(@data[:text_length]).force_encoding(Encoding::UTF_8)
        @start = 0
        @tasks = rows(:tasks, @data[:task_count], TASK).map { |row| task(row) }
        @docs = rows(:docs, @data[:doc_count], DOC).map { |row| doc(row) }
        @next = rows(:next, 1, POSITION).map { |_, length, at_ms| Position.new(at_ms, cut(length)).freeze }.first
        @next_doc = rows(:next_doc, 1, DOC_POSITION).map { |row| DocPosition.new(*cut_all(row)).freeze }.first
        @queues = rows(:queues, @data[:queue_count], QUEUE_STATS).map do |_, length, *counts|
          QueueStats.new(cut(length), *counts).freeze
        end
        @namespaces = rows(:namespaces, @data[:namespace_count], NAMESPACE_STATS).map do |_, length, *counts|
          NamespaceStats.new(cut(length), *counts).freeze
        end
      end

      def modified
        inserted = @data[:inserted_count]
        inserted_docs = @data[:inserted_doc_count]
        Modified.new(@tasks.take(inserted), @tasks.drop(inserted),
                     @docs.take(inserted_docs), @docs.drop(inserted_docs)).freeze
      end

      private

      def task(row)
        id, queue, claimant, err, json = cut_all(row.shift(10))
        version, at_ms, created_ms, modified_ms, expires_ms, claims, attempt, priority = row
        Task.new(id: id, version: version, queue: queue, at_ms: at_ms, created_ms: created_ms,
                 modified_ms: modified_ms, claimant: claimant, claims: claims, attempt: attempt, err: err,
                 json: json, priority: priority, expires_ms: expires_ms.negative? ? nil : expires_ms)
      end

      def doc(row)
        namespace, id, key, secondary_key, claimant, json = cut_all(row.shift(12))
        version, at_ms, created_ms, modified_ms = row
        Doc.new(namespace: namespace, id: id, version: version, key: key, secondary_key: secondary_key,
                json: json, at_ms: at_ms, claimant: claimant, created_ms: created_ms,
                modified_ms: modified_ms)
      end

      # The structures that a field points to, each as its numbers.
      def rows(field, count, format)
        pointer = @data[field]
        return [] if pointer.null? || count.zero?

        found = pointer.read_bytes(SIZES.fetch(field) * count).unpack(format * count)
        found.each_slice(found.size / count)
      end

      # Texts of addresses and lengths; nil for NULL.
      def cut_all(row)
        row.each_slice(2).map { |address, length| cut(length) unless address.zero? }
      end

      def cut(length)
        text = @text.byteslice(@start, length).freeze
        @start += length
        text
      end

      SIZES = { tasks: Native::Task.size, docs: Native::Doc.size, next: Native::TaskPosition.size,
                next_doc: Native::DocPosition.size, queues: Native::QueueStats.size,
                namespaces: Native::NamespaceStats.size }.freeze
      private_constant :SIZES
    end
  end
end
