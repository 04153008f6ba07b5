# frozen_string_literal: true

require "millpond/contents"
require "millpond/record"

module Millpond
  # Converts the results of calls of queue trackers; see {Convert}.
  #
  # @api private
  module TrackerResults
    # Makes a call that returns a result, copies the result and frees it.
    #
    # @yield the out-parameters for the result and the error
    # @return [Contents]
    def self.of(encoding)
      out = FFI::MemoryPointer.new(:pointer)
      Call.check { |error| yield out, error }
      Contents.new(Native.millpond_tracker_result_data(out.read_pointer), encoding)
    ensure
      Native.millpond_tracker_result_free(out.read_pointer) if out
    end

    # What a result holds.
    class Contents < Millpond::Contents
      attr_reader :tracked, :sample, :stats, :scanned, :pruned

      def initialize(pointer, encoding)
        super(Native::TrackerData.new(pointer), encoding)
        @tracked = rows(:entries, :entry_count, Native::Tracked, :entry_size).map { |row| Records.tracked(row, self) }
        @sample = Sample.new(rows(:ids, :id_count, Native::Bytes).map { |row| bytes(*row) }, @data[:stamp]).freeze
        @stats = one(:stats, Native::TrackingStats, :tracking_stats)
        @scanned = one(:scanned, Native::TrackerScanned, :tracker_scanned)
        @pruned = one(:pruned, Native::TrackerPruned, :tracker_pruned)
      end
    end
  end
end
