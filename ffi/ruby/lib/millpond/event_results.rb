# frozen_string_literal: true

require "millpond/contents"
require "millpond/headers"
require "millpond/task_arguments"

module Millpond
  # Converts the arguments and results of calls of event queues; see {Convert}.
  #
  # @api private
  module EventResults
    IF_EXISTS = %i[error ignore replace].freeze
    STATES = %i[scheduled behind ready leased retry dead done].freeze
    MISSED = %i[latest expire].freeze
    OVERLAP = %i[wait allow].freeze
    PUT = %i[created unchanged updated ignored].freeze
    REASONS = %i[rejected exhausted crashed].freeze

    # Makes a call that returns a result of events and more, copies the result and frees it.
    #
    # @yield the out-parameters for the result and the error
    # @return [Contents, nil] nil for NULL
    def self.of(encoding)
      out = FFI::MemoryPointer.new(:pointer)
      Call.check { |error| yield out, error }
      pointer = out.read_pointer
      Contents.new(Native.millpond_events_result_data(pointer), encoding) unless pointer.null?
    ensure
      Native.millpond_events_result_free(out.read_pointer) if out
    end

    # Makes a call that returns what became of each of `count` items.
    #
    # @return [Array<Symbol>]
    def self.each(count, names)
      out = FFI::MemoryPointer.new(:uint32, [count, 1].max)
      Call.check { |error| yield out, error }
      out.read_array_of_uint32(count).map { |number| names[number - 1] }
    end

    # @return [Integer] the number of a word
    def self.number(argument, word, words)
      index = words.index(word)
      return index + 1 if index

      known = words.map(&:inspect).join(", ")
      raise Convert.wrong_type(argument, "a Symbol", word) unless word.is_a?(Symbol)

      raise Convert.invalid("#{argument} is #{word.inspect}; it has to be one of #{known}")
    end

    # The fields of an event to publish.
    #
    # @return [Hash]
    def self.new_event(payload: nil, key: nil, at_ms: nil, delay: nil, ttl: nil, dedup_id: nil, dedup_window: nil,
                       if_exists: nil, headers: nil)
      { payload: Convert.bytes("payload", payload), key: key, at_ms: at_ms, delay: delay, ttl: ttl,
        dedup_id: dedup_id, dedup_window: dedup_window, headers: Headers.piece(headers),
        if_exists: if_exists && number("if_exists", if_exists, IF_EXISTS) }
    end

    # @return [Array(FFI::Pointer, Integer)] events to publish and how many there are
    def self.new_events(values)
      rows = Convert.elements("events", values, Convert::LIMITS[:items]).each_with_index.map do |event, index|
        event = { payload: event } if event.is_a?(String)
        Convert.one_of("events[#{index}]", event, Hash)
        fields = new_event(**event).reject { |_, value| value.nil? }
        Convert.fields(Native::NewEvent, fields)
      end
      TaskArguments.list(Native::NewEvent, rows)
    end

    # Those fields of a schedule that are given.
    #
    # @return [Hash]
    def self.schedule(id: nil, cron: nil, zone: nil, every: nil, anchor_ms: nil, payload: nil, headers: nil, ttl: nil,
                      missed: nil, grace: nil, overlap: nil, from_ms: nil, until_ms: nil, revision: nil)
      { id: Convert.bytes("id", id), cron: cron, zone: zone, every: every, anchor_ms: anchor_ms,
        payload: payload, headers: Headers.piece(headers), ttl: ttl,
        missed: missed && number("missed", missed, MISSED), grace: grace,
        overlap: overlap && number("overlap", overlap, OVERLAP),
        from_ms: from_ms, until_ms: until_ms, revision: revision }.compact
    end

    # @return [Array(FFI::Pointer, Integer)] schedules and how many there are
    def self.schedules(values)
      rows = Convert.elements("schedules", values, Convert::LIMITS[:schedules]).each_with_index.map do |given, index|
        Convert.one_of("schedules[#{index}]", given, Hash)
        Convert.fields(Native::Schedule, schedule(**given))
      end
      TaskArguments.list(Native::Schedule, rows)
    end

    # @return [Array(FFI::Pointer, Integer)] deliveries and how many there are
    def self.receipts(values)
      values = [values] if values.is_a?(Event) || values.is_a?(EventReceipt)
      rows = Convert.elements("deliveries", values, Convert::LIMITS[:items]).each_with_index.map do |value, index|
        receipt("deliveries[#{index}]", value)
      end
      TaskArguments.list(Native::EventReceipt, rows)
    end

    # @return [FFI::Pointer] one delivery
    def self.delivery(value)
      TaskArguments.list(Native::EventReceipt, [receipt("delivery", value)]).first
    end

    # @return [Array(FFI::Pointer, Integer)] ids and how many there are
    def self.ids(values)
      values = [values] if values.is_a?(String) || values.is_a?(Event) || values.is_a?(Published)
      ids = Convert.elements("ids", values, Convert::LIMITS[:items]).each_with_index.map do |value, index|
        Convert.bytes("ids[#{index}]", value.is_a?(Event) || value.is_a?(Published) ? value.id : value)
      end
      [*Convert.texts(ids), ids]
    end

    def self.receipt(argument, value)
      Convert.one_of(argument, value, Event, EventReceipt)
      [Convert.bytes("#{argument}.id", value.id), Convert.bytes("#{argument}.token", value.token)]
    end
    private_class_method :receipt

    # What a result holds.
    class Contents < Millpond::Contents
      attr_reader :events, :published, :next, :stats, :config, :schedules, :synced

      def initialize(pointer, encoding)
        super(Native::EventsData.new(pointer), encoding)
        @events = rows(:events, :event_count, Native::Event, :event_size).map { |row| Records.event(row, self) }
        @published = rows(:published, :published_count, Native::PublishedEvent, :published_size).map do |row|
          Records.published_event(row, self)
        end
        @next = one(:next, Native::EventPosition, :event_position)
        @stats = one(:stats, Native::EventStats, :event_stats)
        @schedules = rows(:schedules, :schedule_count, Native::ScheduleInfo, :schedule_size).map do |row|
          Records.schedule_info(row, self)
        end
        @synced = one(:synced, Native::SchedulesSynced, :schedules_synced)
        @config = one(:config, Native::EventConfig, :event_config)
      end
    end
  end
end
