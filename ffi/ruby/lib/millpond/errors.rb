# frozen_string_literal: true

require "timeout"
require "millpond/native"

module Millpond
  # What every exception of Millpond is, so that `rescue Millpond::Error` catches all of them. There
  # is one class for each kind of error, with a code and a name that are the same in every language
  # Millpond has; where Ruby has a class of its own that fits, it is an ancestor.
  #
  # @example
  #   begin
  #     Millpond.connect("memory:").ick("files").add([[Float::NAN, "a.txt"]])
  #   rescue Millpond::Error => error
  #     [error.class, error.code, error.name, error.operation, error.retry]
  #   end # => [Millpond::InvalidArgumentError, 1, "INVALID_ARGUMENT", "ick.add", :never]
  module Error
    # @return [String] the operation that failed, such as "ick.add"; empty if there was none
    attr_reader :operation

    # For tests of programs: the library makes its errors itself.
    #
    # @param message [String, nil] one line for people
    # @param operation [String] the operation that failed
    # @example
    #   Millpond::TimeoutError.new("no answer", "ick.add").operation # => "ick.add"
    def initialize(message = nil, operation = "")
      super(message)
      @operation = operation
    end

    # @return [Integer] the stable number of the kind of error, the same in every language
    # @example
    #   Millpond::TimeoutError.new.code # => 8
    def code
      self.class::CODE
    end

    # @return [String] the stable name of the kind of error, the same in every language
    # @example
    #   Millpond::TimeoutError.new.name # => "TIMEOUT"
    def name
      self.class::NAME
    end

    # Whether the same call can help.
    #
    # @return [Symbol] `:never`, not before something changes; `:later`, nothing was done;
    #   `:unknown`, it may have been done, so check before you repeat it
    # @example
    #   Millpond::ConnectionFailedError.new.retry # => :later
    def retry
      self.class::RETRY
    end
  end

  # An argument has a wrong value or size. Nothing was sent.
  class InvalidArgumentError < ArgumentError
    include Error
  end

  # The URL or an option of the client is wrong. Nothing was sent.
  class InvalidUrlError < ArgumentError
    include Error
  end

  # This name cannot be used on a cluster: its keys would lie in different slots.
  class CrossSlotError < StandardError
    include Error
  end

  # A key of the queue holds data of another kind.
  class WrongTypeError < StandardError
    include Error
  end

  # The data was written by a version of the format that this version does not know.
  class IncompatibleVersionError < StandardError
    include Error
  end

  # No connection could be made. Nothing was sent.
  class ConnectionFailedError < IOError
    include Error
  end

  # The connection broke after the call was sent: it may or may not have been done.
  class ConnectionLostError < IOError
    include Error
  end

  # No reply came in time: the call may or may not have been done.
  class TimeoutError < ::Timeout::Error
    include Error
  end

  # The server refused the user or the password.
  class AuthenticationFailedError < StandardError
    include Error
  end

  # The server's access rules forbid this user the call.
  class PermissionDeniedError < StandardError
    include Error
  end

  # The server is there but cannot do it now: loading, failing over, busy or read-only.
  class UnavailableError < StandardError
    include Error
  end

  # The server has no memory left for writes.
  class OutOfMemoryError < StandardError
    include Error
  end

  # The server returned an error that Millpond has no kind for.
  class ServerError < StandardError
    include Error
  end

  # The lease has expired or another client holds it: nothing was done.
  class LeaseLostError < StandardError
    include Error
  end

  # Another process holds this directory; processes share queues over `redis:`.
  class LockedError < StandardError
    include Error
  end

  # Stored data is damaged, or lacks what was on disk, in a way that no crash explains; `?repair`
  # opens what lies before the damage.
  class CorruptError < StandardError
    include Error
  end

  # The disk refused a write; what was not acknowledged may be lost.
  class StorageError < IOError
    include Error
  end

  # The embedded engine was opened before a fork; a child process has to open its own.
  class ForkedError < StandardError
    include Error
  end

  # The client was closed.
  class ClosedError < StandardError
    include Error
  end

  # The call was stopped by an interrupt that `Thread.handle_interrupt` holds back. What other
  # interrupts raise comes as it is. A `throw` out of a signal handler does not reach its `catch` if
  # a call is waiting: it ends the call with this error, so raise there instead.
  class CancelledError < StandardError
    include Error
  end

  # A bug in Millpond.
  class InternalError < StandardError
    include Error
  end

  # A task or a document is not as a modification says: nothing was done. Each list has what is wrong in
  # one way, and a modification that is refused is wrong in all of them at once.
  #
  # @example
  #   client = Millpond.connect("memory:")
  #   mine, others = client.tasks("shop"), client.tasks("shop")
  #   mine.insert("inbox", id: "t")
  #   held = mine.claim("inbox")
  #   begin
  #     others.modify(Millpond::Modification.new.delete(held))
  #   rescue Millpond::DependencyError => error
  #     [error.claims.map(&:to_a), error.only_claims?]
  #   end # => [[["t", 1]], true]
  class DependencyError < StandardError
    include Error

    # For tests of programs: the library makes its errors itself.
    #
    # @param message [String, nil] one line for people
    # @param operation [String] the operation that failed
    # @param found [Hash] lists by their names, and `has_missing: true` and so on
    # @example
    #   held = [Millpond::TaskId.new("t", 1)]
    #   Millpond::DependencyError.new("held", claims: held, has_claims: true).has_claims? # => true
    def initialize(message = nil, operation = "", **found)
      super(message, operation)
      @found = found.freeze
    end

    # @return [Array<TaskId>] tasks to insert whose id is taken, with the current version
    # @example
    #   Millpond::DependencyError.new.inserts # => []
    def inserts
      list(:inserts)
    end

    # @return [Array<TaskId>] tasks to change that are missing at that version
    # @example
    #   Millpond::DependencyError.new.changes # => []
    def changes
      list(:changes)
    end

    # @return [Array<TaskId>] tasks to delete that are missing at that version
    # @example
    #   Millpond::DependencyError.new.deletes # => []
    def deletes
      list(:deletes)
    end

    # @return [Array<TaskId>] tasks to depend on that are missing at that version
    # @example
    #   Millpond::DependencyError.new.depends # => []
    def depends
      list(:depends)
    end

    # @return [Array<TaskId>] tasks that are there and that another claimant holds
    # @example
    #   Millpond::DependencyError.new.claims # => []
    def claims
      list(:claims)
    end

    # @return [Array<DocId>] documents to insert whose id is taken, with the current version
    # @example
    #   Millpond::DependencyError.new.doc_inserts # => []
    def doc_inserts
      list(:doc_inserts)
    end

    # @return [Array<DocId>] documents to change that are missing at that version
    # @example
    #   Millpond::DependencyError.new.doc_changes # => []
    def doc_changes
      list(:doc_changes)
    end

    # @return [Array<DocId>] documents to delete that are missing at that version
    # @example
    #   Millpond::DependencyError.new.doc_deletes # => []
    def doc_deletes
      list(:doc_deletes)
    end

    # @return [Array<DocId>] documents to depend on that are missing at that version
    # @example
    #   Millpond::DependencyError.new.doc_depends # => []
    def doc_depends
      list(:doc_depends)
    end

    # @return [Array<DocId>] documents that are there and that another claimant holds
    # @example
    #   Millpond::DependencyError.new.doc_claims # => []
    def doc_claims
      list(:doc_claims)
    end

    # @return [Boolean] whether a task to change, delete or depend on is not there at that version
    # @example
    #   Millpond::DependencyError.new.has_missing? # => false
    def has_missing?
      holds?(:has_missing)
    end

    # @return [Boolean] whether a document to change, delete or depend on is not there at that version
    # @example
    #   Millpond::DependencyError.new.has_missing_docs? # => false
    def has_missing_docs?
      holds?(:has_missing_docs)
    end

    # @return [Boolean] whether another claimant holds a task
    # @example
    #   Millpond::DependencyError.new.has_claims? # => false
    def has_claims?
      holds?(:has_claims)
    end

    # @return [Boolean] whether another claimant holds a document
    # @example
    #   Millpond::DependencyError.new.has_claimed_docs? # => false
    def has_claimed_docs?
      holds?(:has_claimed_docs)
    end

    # @return [Boolean] whether the id of a task or a document to insert is taken
    # @example
    #   Millpond::DependencyError.new.has_collisions? # => false
    def has_collisions?
      holds?(:has_collisions)
    end

    # @return [Boolean] whether the only problem is that others hold what is there: the same can succeed
    #   later
    # @example
    #   Millpond::DependencyError.new.only_claims? # => false
    def only_claims?
      holds?(:only_claims)
    end

    private

    def list(name)
      @found.fetch(name, [])
    end

    def holds?(name)
      @found.fetch(name, false)
    end
  end

  # The rows of the library's table of errors.
  #
  # @api private
  # @return [Array<Array(Integer, String, Symbol)>] code, name and what a retry does
  def self.error_kinds
    Array.new(Native.millpond_error_kind_count) do |index|
      kind = Native::ErrorKind.new
      Native.millpond_error_kind_at(index, kind, nil)
      [kind[:code], kind[:name], %i[never later unknown].fetch(kind[:retry])]
    end
  end

  # The classes by their codes. CONNECTION_LOST is the kind of ConnectionLostError.
  #
  # @api private
  ERROR_CLASSES = error_kinds.each_with_object({}) do |(code, name, retried), classes|
    camel = name.split("_").map(&:capitalize).join
    next unless const_defined?(:"#{camel}Error", false) # of a library that is newer than this gem

    found = const_get(:"#{camel}Error", false)
    found.const_set(:CODE, code)
    found.const_set(:NAME, name.freeze)
    found.const_set(:RETRY, retried)
    classes[code] = found
  end.freeze
end
