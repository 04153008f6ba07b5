# frozen_string_literal: true

require "millpond/tasks_native"
require "millpond/task_values"

module Millpond
  # Reads why a modification was refused; see {DependencyError}.
  #
  # @api private
  module Dependency
    TASKS = %i[inserts changes deletes depends claims].freeze
    DOCS = %i[doc_inserts doc_changes doc_deletes doc_depends doc_claims].freeze
    ANSWERS = %i[has_missing has_missing_docs has_claims has_claimed_docs has_collisions only_claims].freeze

    # @return [Hash] the lists and the flags by their names
    def self.of(error)
      pointer = Native.millpond_error_dependency(error)
      return {} if pointer.null?

      native = Native::Dependency.new(pointer)
      found = {}
      TASKS.each { |name| found[name] = list(native, name, Native::TaskId, "J2Q", TaskId) }
      DOCS.each { |name| found[name] = list(native, name, Native::DocId, "J4Q", DocId) }
      ANSWERS.each { |name| found[name] = native[name] }
      found
    end

    def self.list(native, name, kind, format, made)
      count = native[:"#{name.to_s.chomp('s')}_count"]
      return [].freeze if count.zero?

      numbers = native[name].read_bytes(kind.size * count).unpack(format * count)
      rows = numbers.each_slice(numbers.size / count).map do |*texts, version|
        texts = texts.each_slice(2).map { |address, length| text(address, length) }
        made.new(*texts, version).freeze
      end
      rows.freeze
    end

    def self.text(address, length)
      FFI::Pointer.new(address).read_bytes(length).force_encoding(Encoding::UTF_8).freeze
    end
    private_class_method :list, :text
  end
end
