# frozen_string_literal: true

require "ffi"
require "millpond/library"

module Millpond
  # The functions of libmillpond, as millpond.h has them. Those that may wait for a server, a disk
  # or work let other threads run meanwhile.
  #
  # @api private
  module Native
    extend FFI::Library
    Library.load_into(self, 1)

    # A byte string in a structure.
    class Bytes < FFI::Struct
      layout :data, :pointer, :length, :size_t
    end

    # What a client is made of.
    class Options < FFI::Struct
      layout :url, Bytes, :username, Bytes, :password, Bytes, :client_name, Bytes,
             :timeout_ms, :int64, :connect_timeout_ms, :int64, :retries, :int64, :quiet, :bool
    end

    # What opening a directory found.
    class Recovered < FFI::Struct
      layout :records, :uint64, :torn_bytes, :uint64, :snapshot_bytes, :uint64, :log_bytes, :uint64,
             :closed, :bool, :suspicion, :string, :warnings, :string
    end

    # A member to flag.
    class Pair < FFI::Struct
      layout :member, :pointer, :member_length, :size_t, :score, :double, :score_is_now, :bool
    end

    # A member with its score.
    class Entry < FFI::Struct
      layout :member, :pointer, :member_length, :size_t, :score, :double
    end

    # Sizes and score ranges.
    class Stats < FFI::Struct
      layout :exists, :bool, :pset_size, :uint64, :cset_size, :uint64, :total_size, :uint64,
             :pset_min, :double, :pset_max, :double, :cset_min, :double, :cset_max, :double,
             :total_min, :double, :total_max, :double
    end

    # A script for a connection that the program owns.
    class Script < FFI::Struct
      layout :name, :string, :source, :pointer, :source_length, :size_t, :sha1, :string
    end

    # What a call takes at most.
    class Limits < FFI::Struct
      layout :items, :size_t, :bytes, :size_t, :step_members, :size_t, :icks, :size_t, :fields, :size_t,
             :queues, :size_t, :ids, :size_t, :names, :size_t, :entries, :size_t
    end

    # A row of the table of errors.
    class ErrorKind < FFI::Struct
      layout :code, :int, :name, :string, :retry, :int
    end

    def self.attach(name, arguments, result = :int, **options)
      attach_function(:"millpond_#{name}", arguments, result, **options)
    end

    def self.attach_waiting(name, arguments)
      attach(name, arguments + [:pointer], blocking: true)
    end
    private_class_method :attach, :attach_waiting

    bytes = [:buffer_in, :size_t]
    list = [:pointer, :size_t]
    ick = [:pointer, *bytes]

    attach :version, [], :string
    attach :test_panic, [:pointer]
    attach :on_interrupt, [:pointer], :void
    attach :limits_init, [Limits.by_ref], :void

    attach :error_message, [:pointer], :string
    attach :error_operation, [:pointer], :string
    attach :error_cause, [:pointer], :string
    attach :error_free, [:pointer], :void
    attach :error_kind_count, [], :size_t
    attach :error_kind_at, [:size_t, ErrorKind.by_ref, :pointer]

    attach :options_init, [Options.by_ref], :void
    attach_waiting :connect_with, [Options.by_ref, :pointer]
    attach_waiting :close, [:pointer]
    attach :client_free, [:pointer], :void
    attach :recovery_read, [:pointer, :pointer, :pointer]
    attach :recovery_data, [:pointer], Recovered.by_ref
    attach :recovery_free, [:pointer], :void

    attach :entries_data, [:pointer], :pointer
    attach :entries_length, [:pointer], :size_t
    attach :entries_bytes, [:pointer], :pointer
    attach :entries_bytes_length, [:pointer], :size_t
    attach :entries_free, [:pointer], :void

    attach :keys_data, [:pointer], :pointer
    attach :keys_length, [:pointer], :size_t
    attach :keys_free, [:pointer], :void

    attach_waiting :ick_add, [*ick, *list, :pointer]
    attach_waiting :ick_reserve, [*ick, :uint64, :bool, :pointer]
    attach_waiting :ick_commit, [*ick, *list, :pointer]
    attach_waiting :ick_exchange, [*ick, :uint64, *list, :bool, :pointer]
    attach_waiting :ick_stats_read, [*ick, Stats.by_ref]
    attach_waiting :ick_peek, [*ick, :uint32, :uint64, :pointer]
    attach_waiting :ick_delete, [*ick, :bool, :pointer]
    attach :ick_version, [], :string
    attach :ick_keys, [*bytes, :pointer, :pointer]

    attach :ick_batches, [*ick, :uint64, :int64, :pointer, :pointer]
    attach_waiting :batches_next, [:pointer, :pointer]
    attach :batches_free, [:pointer], :void

    attach_waiting :ick_lease_acquire, [*ick, :uint64, :pointer]
    attach :lease_is_lost, [:pointer, :pointer, :pointer]
    attach :lease_token, [:pointer, Bytes.by_ref, :pointer]
    attach_waiting :lease_reserve, [:pointer, :uint64, :pointer]
    attach_waiting :lease_commit, [:pointer, *list, :pointer]
    attach_waiting :lease_exchange, [:pointer, :uint64, *list, :pointer]
    attach :lease_batches, [:pointer, :uint64, :int64, :pointer, :pointer]
    attach_waiting :lease_release, [:pointer, :pointer]
    attach :lease_free, [:pointer], :void

    attach :ick_channel_new, [*ick, :uint32, :uint32, :pointer, :pointer]
    attach :ick_channel_readable, [:pointer, :pointer, :pointer]
    attach :ick_channel_ick_of, [:pointer, *bytes, :pointer, :pointer]
    attach :ick_channel_ick_name, [:pointer, :uint32, :pointer, :pointer]
    attach_waiting :ick_channel_add, [:pointer, *list, :pointer]
    attach :ick_channel_batches, [:pointer, *list, :uint64, :int64, :pointer, :pointer]
    attach :ick_channel_free, [:pointer], :void

    attach :script_find, [:string, Script.by_ref, :pointer]

    # Handles that the garbage collector frees. In the child of a fork that is harmless: the
    # library leaves alone what is the parent's.
    class Client < FFI::AutoPointer
      def self.release(pointer)
        Native.millpond_client_free(pointer)
      end
    end

    # See {Client}.
    class Batches < FFI::AutoPointer
      def self.release(pointer)
        Native.millpond_batches_free(pointer)
      end
    end

    # See {Client}.
    class Lease < FFI::AutoPointer
      def self.release(pointer)
        Native.millpond_lease_free(pointer)
      end
    end

    # See {Client}.
    class Channel < FFI::AutoPointer
      def self.release(pointer)
        Native.millpond_ick_channel_free(pointer)
      end
    end
  end
end
