# frozen_string_literal: true

require "millpond/record"

module Millpond
  # Reads why a modification was refused; see {DependencyError}.
  #
  # @api private
  module Dependency
    # @return [Hash] the lists and the flags by their names
    def self.of(error)
      pointer = Native.millpond_error_dependency(error)
      return {} if pointer.null?

      native = Native::TasksDependency.new(pointer)
      names = native.members.reject { |name| name.end_with?("_count") }
      names.to_h { |name| [name, native[name].is_a?(FFI::Pointer) ? list(native, name) : native[name]] }
    end

    def self.list(native, name)
      kind, made = name.start_with?("doc_") ? [Native::DocId, DocId] : [Native::TaskId, TaskId]
      rows = kind.rows(native[name], native[:"#{name.to_s.chomp('s')}_count"]).map do |*texts, version|
        made.new(*texts.each_slice(2).map { |address, length| text(address, length) }, version).freeze
      end
      rows.freeze
    end

    def self.text(address, length)
      FFI::Pointer.new(address).read_bytes(length).force_encoding(Encoding::UTF_8).freeze
    end
    private_class_method :list, :text
  end
end
