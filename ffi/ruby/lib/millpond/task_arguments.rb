# frozen_string_literal: true

require "millpond/convert"
require "millpond/record"

module Millpond
  # Converts the arguments of task store calls for the library; see {Convert}.
  #
  # @api private
  module TaskArguments
    ENTRIES = {
      inserts: Native::NewTask, changes: Native::TaskChange, deletes: Native::TaskId, depends: Native::TaskId,
      doc_inserts: Native::NewDoc, doc_puts: Native::NewDoc, doc_changes: Native::DocChange,
      doc_deletes: Native::DocId, doc_depends: Native::DocId
    }.freeze

    # @return [Native::TasksModification] which keeps its lists alive
    def self.modification(modification)
      Convert.one_of("modification", modification, Modification)
      native = Native::TasksModification.initial
      modification.rows.each { |name, rows| put_list(native, name, list(ENTRIES.fetch(name), rows)) unless rows.empty? }
      native
    end

    # Tasks or documents to renew.
    #
    # @return [Array<TaskId>, Array<DocId>]
    def self.ids(argument, values, kind, record)
      values = [values] if values.is_a?(kind) || values.is_a?(record)
      Convert.elements(argument, values, Convert::LIMITS[:entries]).each_with_index.map do |value, index|
        kind.new(*id("#{argument}[#{index}]", value, kind, record))
      end
    end

    # @return [Array(FFI::Pointer, Integer)] the list of ids and how many there are
    def self.id_list(native, ids)
      list(native, ids.map(&:to_a))
    end

    # @return [Array] the parts of a task or a document at a version
    def self.id(argument, value, kind, record)
      Convert.one_of(argument, value, record, kind)
      *names, version = kind.members.map { |name| ["#{argument}.#{name}", value.public_send(name)] }
      [*names.map { |name| Convert.bytes(*name) }, Convert.size(*version)]
    end

    # One name, or several.
    #
    # @return [Array(FFI::Pointer, Integer)] their list and how many there are
    def self.names(argument, values, max = Convert::LIMITS[:names])
      values = [values] if values.is_a?(String)
      names = Convert.elements(argument, values, max).each_with_index.map do |name, index|
        Convert.bytes("#{argument}[#{index}]", name)
      end
      Convert.texts(names)
    end

    # @return [Integer] from seconds or nil
    def self.milliseconds(argument, seconds)
      seconds.nil? ? Native::NOT_SET : Convert.milliseconds(argument, seconds)
    end

    # @param kinds [Array<Class>] the classes that have such a position
    # @return [Native::TaskQuery, Native::DocQuery]
    def self.query(kind, position, after, kinds, settings)
      query = Convert.options(kind, settings)
      return query if after.nil?

      Convert.one_of("after", after, *kinds)
      row = position.members.map do |name|
        value = after.public_send(name)
        name == :at_ms ? Convert.size("after.at_ms", value) : Convert.bytes("after.#{name}", value)
      end
      query[:after], = list(position, [row])
      query
    end

    # @return [Hash{Symbol => String}] where it starts and ends
    def self.range(argument, range)
      Convert.one_of(argument, range, Range)
      if range.end && !range.exclude_end?
        raise Convert.invalid("#{argument} is #{range}, with its end; write it with three dots, without")
      end

      ends = { begin: range.begin, end: range.end }.compact
      ends.to_h { |name, key| [name == :end ? name : :start, Convert.bytes("#{argument}.#{name}", key)] }
    end

    # @return [Native::TasksFilter]
    def self.filter(exact, prefixes, limit = nil)
      filter = Convert.options(Native::TasksFilter, limit: limit)
      filter[:exact], filter[:exact_count] = names("exact", exact)
      filter[:prefixes], filter[:prefix_count] = names("prefixes", prefixes)
      filter
    end

    # One block of memory: the rows, followed by the texts that they point to. Rows of a structure that
    # can grow are Hashes of fields.
    def self.list(kind, rows)
      return [nil, 0] if rows.empty?

      rows = rows.map { |row| kind.row(row) } if kind.growing?
      parts = rows.flatten
      texts = parts.grep(String)
      Convert.check_bytes(texts)
      bytes = texts.pack("a*" * texts.size)
      rows_size = kind.size * rows.size
      memory = FFI::MemoryPointer.new(rows_size + bytes.bytesize, 1, false)
      address = memory.address + rows_size
      numbers = parts.flat_map do |part|
        case part
        when String
          address += part.bytesize
          [address - part.bytesize, part.bytesize]
        when nil then [0, 0]
        when Integer then part
        else part ? 1 : 0
        end
      end
      memory.put_bytes(0, numbers.pack(kind.format * rows.size)).put_bytes(rows_size, bytes)
      [memory, rows.size]
    end

    # inserts is counted by insert_count.
    def self.put_list(native, name, list)
      native[name], native[:"#{name.to_s.chomp('s')}_count"] = list
    end
    private_class_method :put_list
  end
end
