# frozen_string_literal: true

require "millpond/contents"
require "millpond/modification"

module Millpond
  # Converts the results of task store calls to Ruby values; see {Convert}. Names and JSON texts are UTF-8, regardless
  # of the client's encoding.
  #
  # @api private
  module TaskResults
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

    # Makes a call that renews these tasks and documents, and stores the new versions in their ids.
    #
    # @yield the out-parameters for the versions of tasks, those of documents, what is cancelled, the time and the error
    # @return [Renewed]
    def self.renewed(tasks, docs)
      versions = [tasks, docs].map { |ids| FFI::MemoryPointer.new(:uint64, [ids.size, 1].max) }
      flags = FFI::MemoryPointer.new(:bool, [tasks.size, 1].max)
      at_ms = Call.number(:uint64) { |out, error| yield(*versions, flags, out, error) }
      [tasks, docs].zip(versions) do |ids, out|
        ids.zip(out.read_array_of_uint64(ids.size)) { |id, version| id.version = version }
        ids.each(&:freeze)
      end
      cancelled = tasks.zip(flags.read_array_of_uint8(tasks.size)).select { |_, flag| flag == 1 }
      Renewed.new(tasks, docs, at_ms, cancelled.map { |task, _| task.id }.freeze).freeze
    end

    # What a result holds.
    class Contents < Millpond::Contents
      attr_reader :tasks, :docs, :next, :next_doc, :queues, :namespaces

      def initialize(pointer)
        super(Native::TasksData.new(pointer), Encoding::UTF_8)
        @tasks = rows(:tasks, :task_count, Native::Task, :task_size).map { |row| Records.task(row, self) }
        @docs = rows(:docs, :doc_count, Native::Doc, :doc_size).map { |row| Records.doc(row, self) }
        @next = one(:next, Native::TaskPosition, :task_position)
        @next_doc = one(:next_doc, Native::DocPosition, :doc_position)
        @queues = rows(:queues, :queue_count, Native::TaskQueueStats, :queue_size).map do |row|
          Records.task_queue_stats(row, self)
        end
        @namespaces = rows(:namespaces, :namespace_count, Native::TaskNamespaceStats, :namespace_size).map do |row|
          Records.task_namespace_stats(row, self)
        end
      end

      def modified
        inserted = @data[:inserted_count]
        inserted_docs = @data[:inserted_doc_count]
        Modified.new(@tasks.take(inserted), @tasks.drop(inserted),
                     @docs.take(inserted_docs), @docs.drop(inserted_docs)).freeze
      end

      # @return [Swept]
      def swept
        Swept.new(@data[:swept_count], @next).freeze
      end
    end
  end
end
