# frozen_string_literal: true

require "millpond/native"

module Millpond
  # The functions of libmillpond for shuffle queues.
  #
  # @api private
  module Native
    # The settings of a queue.
    class ShuffleOptions < FFI::Struct
      layout :streams, :int64, :streams_per_shard, :int64, :ttl_ms, :int64, :dead_ttl_ms, :int64,
             :track_keys, :int64
    end

    # The settings of a consumer.
    class ShuffleConsumerOptions < FFI::Struct
      layout :prefer_stream, :int64, :max_deliveries, :uint64, :default_stream, :bool
    end

    # A field of a message and its value.
    class ShuffleField < FFI::Struct
      layout :field, Bytes, :value, Bytes
    end

    # Where a message is.
    class ShuffleReceipt < FFI::Struct
      layout :stream, :int64, :id_time_ms, :uint64, :id_sequence, :uint64
    end

    # A message to write.
    class ShuffleNewMessage < FFI::Struct
      layout :shard_key, Bytes, :fields, :pointer, :field_count, :size_t
    end

    # A message that was taken.
    class ShuffleMessage < FFI::Struct
      layout :receipt, ShuffleReceipt, :deliveries, :uint64, :fields, :pointer, :field_count, :size_t
    end

    # A message that was delivered too often.
    class ShuffleDeadLetter < FFI::Struct
      layout :id_time_ms, :uint64, :id_sequence, :uint64, :group, Bytes, :consumer, Bytes,
             :message, ShuffleMessage
    end

    # The id of a dead letter.
    class ShuffleId < FFI::Struct
      layout :time_ms, :uint64, :sequence, :uint64
    end

    # What a stream holds for a group.
    class ShuffleStreamStats < FFI::Struct
      layout :len, :uint64, :pending, :uint64, :lag, :uint64, :oldest_idle_ms, :int64
    end

    bytes = [:buffer_in, :size_t]
    list = [:pointer, :size_t]

    attach :shuffle_options_init, [ShuffleOptions.by_ref], :void
    attach :shuffle_queue_new, [:pointer, *bytes, ShuffleOptions.by_ref, :pointer, :pointer]
    attach :shuffle_queue_free, [:pointer], :void
    attach :shuffle_shard, [:uint32, :uint32, *bytes, :pointer, :pointer]
    attach :shuffle_keys, [*bytes, :pointer, :pointer]
    attach :shuffle_tracking_keys, [*bytes, :uint32, :pointer, :pointer]

    attach_waiting :shuffle_write, [:pointer, *bytes, *list, :pointer]
    attach_waiting :shuffle_write_many, [:pointer, *list, :pointer]
    attach_waiting :shuffle_resize, [:pointer, :uint32, :pointer]
    attach_waiting :shuffle_len, [:pointer, :pointer]
    attach_waiting :shuffle_backlog, [:pointer, :pointer]
    attach_waiting :shuffle_pending_count, [:pointer, *bytes, :pointer]

    attach_waiting :shuffle_write_tracked, [:pointer, *bytes, *list, *bytes, :int64, :pointer]
    attach_waiting :shuffle_write_tracked_many, [:pointer, *list, *bytes, :int64, :pointer]
    attach_waiting :shuffle_delete_tracked, [:pointer, *bytes, :pointer, :pointer]
    attach_waiting :shuffle_cordon_deadline_exceeded, [:pointer, :uint64, :pointer]
    attach :shuffle_gc, [:pointer, :int64, :pointer, :pointer]
    attach_waiting :shuffle_garbage_next, [:pointer, :pointer]
    attach :shuffle_garbage_counts, [:pointer, :pointer, :pointer, :pointer]
    attach :shuffle_garbage_free, [:pointer], :void

    attach_waiting :shuffle_stats_read, [:pointer, *bytes, :pointer]
    attach :shuffle_stats_streams, [:pointer], :pointer
    attach :shuffle_stats_length, [:pointer], :size_t
    attach :shuffle_stats_total, [:pointer], :pointer
    attach :shuffle_stats_free, [:pointer], :void

    attach_waiting :shuffle_dead_letters_read, [:pointer, :size_t, :pointer]
    attach_waiting :shuffle_delete_dead_letters, [:pointer, *list, :pointer]
    attach :shuffle_dead_letters_data, [:pointer], :pointer
    attach :shuffle_dead_letters_length, [:pointer], :size_t
    attach :shuffle_dead_letters_free, [:pointer], :void

    attach :shuffle_consumer_options_init, [ShuffleConsumerOptions.by_ref], :void
    attach :shuffle_consumer_new,
           [:pointer, *bytes, *bytes, ShuffleConsumerOptions.by_ref, :pointer, :pointer]
    attach :shuffle_consumer_free, [:pointer], :void
    attach_waiting :shuffle_read, [:pointer, :size_t, :int64, :pointer]
    attach_waiting :shuffle_ack, [:pointer, *list, :pointer]
    attach_waiting :shuffle_ack_and_delete, [:pointer, *list, :pointer]
    attach_waiting :shuffle_extend, [:pointer, *list, :pointer]
    attach_waiting :shuffle_reclaim, [:pointer, :uint64, :size_t, :pointer, :pointer]

    attach :shuffle_messages_new, [:pointer, :size_t, :int64, :pointer, :pointer]
    attach_waiting :shuffle_messages_next, [:pointer, :pointer]
    attach :shuffle_messages_free, [:pointer], :void

    attach :shuffle_batch_messages, [:pointer], :pointer
    attach :shuffle_batch_length, [:pointer], :size_t
    attach :shuffle_batch_bytes, [:pointer], :pointer
    attach :shuffle_batch_bytes_length, [:pointer], :size_t
    attach :shuffle_batch_fields, [:pointer], :pointer
    attach :shuffle_batch_fields_length, [:pointer], :size_t
    attach :shuffle_batch_free, [:pointer], :void

    # Handles that the garbage collector frees; see {Client}.
    class ShuffleQueue < FFI::AutoPointer
      def self.release(pointer)
        Native.millpond_shuffle_queue_free(pointer)
      end
    end

    # See {Client}.
    class ShuffleConsumer < FFI::AutoPointer
      def self.release(pointer)
        Native.millpond_shuffle_consumer_free(pointer)
      end
    end

    # See {Client}.
    class ShuffleMessages < FFI::AutoPointer
      def self.release(pointer)
        Native.millpond_shuffle_messages_free(pointer)
      end
    end

    # See {Client}.
    class ShuffleGarbage < FFI::AutoPointer
      def self.release(pointer)
        Native.millpond_shuffle_garbage_free(pointer)
      end
    end
  end
end
