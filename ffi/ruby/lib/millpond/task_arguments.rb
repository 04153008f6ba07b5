# frozen_string_literal: true

require "millpond/convert"
require "millpond/record"

module Millpond
  # What calls of task stores take, for the library; see {Convert}.
  #
  # @api private
  module TaskArguments
    INT64_MAX = (1 << 63) - 1
    ENTRIES = {
      inserts: Native::NewTask, changes: Native::TaskChange, deletes: Native::TaskId, depends: Native::TaskId,
      doc_inserts: Native::NewDoc, doc_puts: Native::NewDoc, doc_changes: Native::DocChange,
      doc_deletes: Native::DocId, doc_depends: Native::DocId
    }.freeze

    # @return [Native::TasksModification] which holds on to its lists
    def self.modification(modification)
      unless modification.is_a?(Modification)
        raise Convert.wrong_type("modification", "a Modification", modification)
      end

      native = Native::TasksModification.initial
      modification.rows.each do |name, rows|
        put_list(native, name, *list(ENTRIES.fetch(name), rows))
      end
      native
    end

    # Tasks to renew.
    #
    # @return [Array<TaskId>]
    def self.task_ids(values)
      values = [values] if task?(values)
      Convert.elements("tasks", values, Convert::LIMITS[:entries]).each_with_index.map do |task, index|
        TaskId.new(*task_id("tasks[#{index}]", task))
      end
    end

    # Documents to renew.
    #
    # @return [Array<DocId>]
    def self.doc_ids(values)
      values = [values] if doc?(values)
      Convert.elements("docs", values, Convert::LIMITS[:entries]).each_with_index.map { |doc, index| DocId.new(*doc_id("docs[#{index}]", doc)) }
    end

    # @return [Array(FFI::Pointer, Integer)] the list of tasks and how many there are
    def self.task_list(ids)
      list(Native::TaskId, ids.map(&:to_a))
    end

    # @return [Array(FFI::Pointer, Integer)] the list of documents and how many there are
    def self.doc_list(ids)
      list(Native::DocId, ids.map(&:to_a))
    end

    # @return [Array] the parts of a task at a version
    def self.task_id(argument, task)
      raise Convert.wrong_type(argument, "a Task or a TaskId", task) unless task?(task)

      [Convert.bytes("#{argument}.id", task.id), Convert.size("#{argument}.version", task.version)]
    end

    # @return [Array] the parts of a document at a version
    def self.doc_id(argument, doc)
      raise Convert.wrong_type(argument, "a Doc or a DocId", doc) unless doc?(doc)

      [Convert.bytes("#{argument}.namespace", doc.namespace), Convert.bytes("#{argument}.id", doc.id),
       Convert.size("#{argument}.version", doc.version)]
    end

    # @return [Array] the parts of a change
    def self.row(argument, change, kind, name)
      change.is_a?(kind) ? change.row : raise(Convert.wrong_type(argument, "a #{name}", change))
    end

    # A name, or several.
    #
    # @return [Array(FFI::Pointer, Integer)] their list and how many there are
    def self.names(argument, values, max = Convert::LIMITS[:names])
      values = [values] if values.is_a?(String)
      rows = Convert.elements(argument, values, max).each_with_index.map do |name, index|
        [Convert.bytes("#{argument}[#{index}]", name)]
      end
      list(Native::Bytes, rows)
    end

    # A time on the clock and a delay from now, of which the library takes one.
    #
    # @return [Array(Integer, Integer)] both in milliseconds
    def self.time(at_ms, delay)
      [at_ms.nil? ? Native::NOT_SET : Convert.size("at_ms", at_ms, INT64_MAX), milliseconds("delay", delay)]
    end

    # @return [Integer] of seconds or nil
    def self.milliseconds(argument, seconds)
      seconds.nil? ? Native::NOT_SET : Convert.milliseconds(argument, seconds)
    end

    # @return [Native::TaskQuery]
    def self.task_query(after, limit, claimant, omit_values)
      query = Native::TaskQuery.initial
      unless after.nil?
        unless after.is_a?(Position) || after.is_a?(Task)
          raise Convert.wrong_type("after", "a Position or a Task", after)
        end

        row = { id: Convert.bytes("after.id", after.id), at_ms: Convert.size("after.at_ms", after.at_ms) }
        row = row.values_at(*Native::TaskPosition.members)
        query[:after], = list(Native::TaskPosition, [row])
      end
      put_limit(query, limit)
      put_text(query, :claimant, claimant)
      query[:omit_values] = !!omit_values
      query
    end

    # @return [Native::DocQuery]
    def self.doc_query(keys, after, limit, omit_contents)
      query = Native::DocQuery.initial
      unless after.nil?
        unless after.is_a?(DocPosition) || after.is_a?(Doc)
          raise Convert.wrong_type("after", "a DocPosition or a Doc", after)
        end

        row = Native::DocPosition.members.map { |part| Convert.bytes("after.#{part}", after.public_send(part)) }
        query[:after], = list(Native::DocPosition, [row])
      end
      put_limit(query, limit)
      unless keys.nil?
        first, last = range("keys", keys)
        put_text(query, :start, first)
        put_text(query, :end, last)
      end
      query[:omit_contents] = !!omit_contents
      query
    end

    # @return [Array(String, String)] its ends, each of which may be nil
    def self.range(argument, range)
      raise Convert.wrong_type(argument, "a Range", range) unless range.is_a?(Range)
      if range.end && !range.exclude_end?
        raise Convert.invalid("#{argument} is #{range}, with its end; write it with three dots, without")
      end

      { begin: range.begin, end: range.end }.map { |name, key| key && Convert.bytes("#{argument}.#{name}", key) }
    end

    # @return [Native::TasksFilter]
    def self.filter(exact, prefixes, limit = nil)
      filter = Native::TasksFilter.initial
      filter[:exact], filter[:exact_count] = names("exact", exact)
      filter[:prefixes], filter[:prefix_count] = names("prefixes", prefixes)
      put_limit(filter, limit)
      filter
    end

    # @return [Native::TasksWorkerOptions]
    def self.worker_options(wait, lease, backoff, backoff_max, max_attempts, max_claims, error_queue)
      options = Native::TasksWorkerOptions.initial
      options[:wait_ms] = Batches.wait_ms(wait)
      options[:lease_ms] = milliseconds("lease", lease)
      options[:backoff_ms] = milliseconds("backoff", backoff)
      options[:backoff_max_ms] = milliseconds("backoff_max", backoff_max)
      options[:max_attempts] = Convert.small_size("max_attempts", max_attempts)
      options[:max_claims] = Convert.small_size("max_claims", max_claims)
      put_text(options, :error_queue, error_queue)
      options
    end

    # One block of memory: the rows, and then the texts that they point to. Rows of a structure that can
    # grow have names.
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
    def self.put_list(native, name, memory, count)
      native[name] = memory
      native[:"#{name.to_s.chomp('s')}_count"] = count
    end

    def self.put_limit(native, limit)
      native[:limit] = Convert.size("limit", limit, INT64_MAX) unless limit.nil?
    end

    def self.put_text(native, name, text)
      native.put_text(name, Convert.bytes(name, text)) unless text.nil?
    end

    def self.task?(value)
      value.is_a?(Task) || value.is_a?(TaskId)
    end

    def self.doc?(value)
      value.is_a?(Doc) || value.is_a?(DocId)
    end
    private_class_method :list, :range, :put_list, :put_limit, :put_text, :task?, :doc?
  end
end
