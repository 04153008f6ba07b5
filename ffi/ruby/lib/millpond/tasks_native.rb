# frozen_string_literal: true

require "millpond/native"

module Millpond
  # The functions of libmillpond for task stores.
  #
  # @api private
  module Native
    # A task to insert.
    class NewTask < FFI::Struct
      layout :queue, Bytes, :id, Bytes, :value, Bytes, :err, Bytes, :at_ms, :int64, :delay_ms, :int64,
             :ttl_ms, :int64, :attempt, :uint64, :priority, :uint64, :skip_colliding, :bool
    end

    # A change of a task.
    class TaskChange < FFI::Struct
      layout :id, Bytes, :queue, Bytes, :value, Bytes, :err, Bytes, :version, :uint64, :attempt, :uint64,
             :at_ms, :int64, :delay_ms, :int64, :retry, :bool, :retry_err, Bytes,
             :quarantine_queue, Bytes, :quarantine_attempts, :uint64
    end

    # A task at a version.
    class TaskId < FFI::Struct
      layout :id, Bytes, :version, :uint64
    end

    # A task as the store holds it.
    class Task < FFI::Struct
      layout :id, Bytes, :queue, Bytes, :claimant, Bytes, :err, Bytes, :value, Bytes, :version, :uint64,
             :at_ms, :uint64, :created_ms, :uint64, :modified_ms, :uint64, :expires_ms, :int64,
             :claims, :uint64, :attempt, :uint64, :priority, :uint64
    end

    # A document to insert.
    class NewDoc < FFI::Struct
      layout :namespace, Bytes, :key, Bytes, :id, Bytes, :secondary_key, Bytes, :content, Bytes,
             :skip_colliding, :bool
    end

    # A document at a version.
    class DocId < FFI::Struct
      layout :namespace, Bytes, :id, Bytes, :version, :uint64
    end

    # A change of a document.
    class DocChange < FFI::Struct
      layout :doc, DocId, :content, Bytes, :at_ms, :int64, :delay_ms, :int64
    end

    # A document as the store holds it.
    class Doc < FFI::Struct
      layout :namespace, Bytes, :id, Bytes, :key, Bytes, :secondary_key, Bytes, :claimant, Bytes,
             :content, Bytes, :version, :uint64, :at_ms, :uint64, :created_ms, :uint64,
             :modified_ms, :uint64
    end

    # Everything that is to happen in one step.
    class Modification < FFI::Struct
      layout :inserts, :pointer, :insert_count, :size_t, :changes, :pointer, :change_count, :size_t,
             :deletes, :pointer, :delete_count, :size_t, :depends, :pointer, :depend_count, :size_t,
             :doc_inserts, :pointer, :doc_insert_count, :size_t,
             :doc_puts, :pointer, :doc_put_count, :size_t,
             :doc_changes, :pointer, :doc_change_count, :size_t,
             :doc_deletes, :pointer, :doc_delete_count, :size_t,
             :doc_depends, :pointer, :doc_depend_count, :size_t
    end

    # Where a task stands in the order of its queue.
    class TaskPosition < FFI::Struct
      layout :id, Bytes, :at_ms, :uint64
    end

    # Where a document stands in the order of its namespace.
    class DocPosition < FFI::Struct
      layout :key, Bytes, :secondary_key, Bytes, :id, Bytes
    end

    # What is in a queue.
    class QueueStats < FFI::Struct
      layout :queue, Bytes, :size, :uint64, :available, :uint64, :claimed, :uint64, :future, :uint64,
             :max_claims, :uint64
    end

    # What is in a namespace.
    class NamespaceStats < FFI::Struct
      layout :namespace, Bytes, :size, :uint64, :claimed, :uint64
    end

    # What is in a result.
    class TasksData < FFI::Struct
      layout :tasks, :pointer, :task_count, :size_t, :inserted_count, :size_t,
             :docs, :pointer, :doc_count, :size_t, :inserted_doc_count, :size_t,
             :next, :pointer, :next_doc, :pointer, :queues, :pointer, :queue_count, :size_t,
             :namespaces, :pointer, :namespace_count, :size_t, :text, :pointer, :text_length, :size_t
    end

    # Which tasks of a queue to list. The parts of a byte string are fields here and below, so that the
    # structure holds on to the memory.
    class TaskQuery < FFI::Struct
      layout :after, :pointer, :limit, :int64, :claimant, :pointer, :claimant_length, :size_t,
             :omit_values, :bool
    end

    # Which documents of a namespace to list.
    class DocQuery < FFI::Struct
      layout :after, :pointer, :limit, :int64, :start, :pointer, :start_length, :size_t,
             :end, :pointer, :end_length, :size_t, :omit_contents, :bool
    end

    # Which queues or namespaces to include.
    class TasksFilter < FFI::Struct
      layout :exact, :pointer, :exact_count, :size_t, :prefixes, :pointer, :prefix_count, :size_t,
             :limit, :int64
    end

    # Why a modification was refused.
    class Dependency < FFI::Struct
      layout :inserts, :pointer, :insert_count, :size_t, :changes, :pointer, :change_count, :size_t,
             :deletes, :pointer, :delete_count, :size_t, :depends, :pointer, :depend_count, :size_t,
             :claims, :pointer, :claim_count, :size_t,
             :doc_inserts, :pointer, :doc_insert_count, :size_t,
             :doc_changes, :pointer, :doc_change_count, :size_t,
             :doc_deletes, :pointer, :doc_delete_count, :size_t,
             :doc_depends, :pointer, :doc_depend_count, :size_t,
             :doc_claims, :pointer, :doc_claim_count, :size_t,
             :has_missing, :bool, :has_missing_docs, :bool, :has_claims, :bool,
             :has_claimed_docs, :bool, :has_collisions, :bool, :only_claims, :bool
    end

    # How a worker works.
    class TasksWorkerOptions < FFI::Struct
      layout :lease_ms, :int64, :wait_ms, :int64, :backoff_ms, :int64, :backoff_max_ms, :int64,
             :max_attempts, :uint32, :max_claims, :uint32,
             :error_queue, :pointer, :error_queue_length, :size_t, :on_error, :pointer
    end

    bytes = [:buffer_in, :size_t]
    list = [:pointer, :size_t]

    attach :tasks_store_new, [:pointer, *bytes, *bytes, :pointer, :pointer]
    attach :tasks_claimant, [:pointer, Bytes.by_ref, :pointer]
    attach :tasks_store_free, [:pointer], :void
    attach :tasks_keys, [*bytes, :pointer, :pointer]
    attach_waiting :tasks_time, [:pointer, :pointer]

    attach_waiting :tasks_modify, [:pointer, Modification.by_ref, :pointer]
    attach_waiting :tasks_claim, [:pointer, *list, :int64, :size_t, :int64, :pointer]
    attach_waiting :tasks_renew, [:pointer, *list, *list, :int64, :pointer, :pointer, :pointer]
    attach_waiting :tasks_fetch, [:pointer, *list, :pointer]
    attach :task_query_init, [TaskQuery.by_ref], :void
    attach_waiting :tasks_list, [:pointer, *bytes, TaskQuery.by_ref, :pointer]
    attach_waiting :tasks_claim_docs, [:pointer, *bytes, *bytes, :int64, :pointer]
    attach_waiting :tasks_get_doc, [:pointer, *bytes, *bytes, *bytes, :pointer]
    attach_waiting :tasks_fetch_docs, [:pointer, *bytes, *list, :pointer]
    attach :doc_query_init, [DocQuery.by_ref], :void
    attach_waiting :tasks_list_docs, [:pointer, *bytes, DocQuery.by_ref, :pointer]
    attach :tasks_filter_init, [TasksFilter.by_ref], :void
    attach_waiting :tasks_queue_stats, [:pointer, TasksFilter.by_ref, :pointer]
    attach_waiting :tasks_are_empty, [:pointer, TasksFilter.by_ref, :pointer]
    attach_waiting :tasks_namespace_stats, [:pointer, TasksFilter.by_ref, :pointer]

    attach :tasks_result_data, [:pointer], :pointer
    attach :tasks_result_free, [:pointer], :void
    attach :error_dependency, [:pointer], :pointer

    attach :tasks_claims_new, [:pointer, *list, :int64, :size_t, :int64, :pointer, :pointer]
    attach_waiting :tasks_claims_next, [:pointer, :pointer]
    attach :tasks_claims_free, [:pointer], :void

    attach :tasks_worker_options_init, [TasksWorkerOptions.by_ref], :void
    attach :tasks_jobs_new, [:pointer, *list, TasksWorkerOptions.by_ref, :pointer, :pointer]
    attach_waiting :tasks_jobs_next, [:pointer, :pointer]
    attach :tasks_jobs_free, [:pointer], :void

    attach :tasks_job_data, [:pointer], :pointer
    attach :tasks_job_version, [:pointer, :pointer, :pointer]
    attach :tasks_job_is_lost, [:pointer, :pointer, :pointer]
    attach :tasks_job_is_ended, [:pointer, :pointer, :pointer]
    attach_waiting :tasks_job_claim_docs, [:pointer, *bytes, *bytes, :int64, :pointer]
    attach_waiting :tasks_job_finish, [:pointer, Modification.by_ref, :pointer]
    attach_waiting :tasks_job_done, [:pointer]
    attach_waiting :tasks_job_fail, [:pointer, *bytes]
    attach_waiting :tasks_job_retry, [:pointer, *bytes, :int64]
    attach_waiting :tasks_job_move, [:pointer, *bytes, *bytes]
    attach_waiting :tasks_job_release, [:pointer, :int64]
    attach :tasks_job_free, [:pointer], :void

    # Handles that the garbage collector frees; see {Client}.
    class TaskStore < FFI::AutoPointer
      def self.release(pointer)
        Native.millpond_tasks_store_free(pointer)
      end
    end

    # See {Client}.
    class TaskClaims < FFI::AutoPointer
      def self.release(pointer)
        Native.millpond_tasks_claims_free(pointer)
      end
    end

    # See {Client}.
    class Jobs < FFI::AutoPointer
      def self.release(pointer)
        Native.millpond_tasks_jobs_free(pointer)
      end
    end

    # See {Client}.
    class Job < FFI::AutoPointer
      def self.release(pointer)
        Native.millpond_tasks_job_free(pointer)
      end
    end
  end
end
