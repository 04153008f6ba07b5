# frozen_string_literal: true

require "millpond/contents"
require "millpond/record"

module Millpond
  # Converts the results of calls of recruiters and of their handlers; see {Convert}.
  #
  # @api private
  module RecruiterResults
    # In the order of the library's numbers.
    WHYS = %i[worked nothing aborted failed not_drawn not_due denied busy in_slice over_duty no_jobs unavailable
              stopped].freeze
    # What enlistments return that ran nothing: most of them.
    DISMISSED = WHYS.map { |why| Duty.new(false, nil, 0.0, why).freeze }.freeze
    private_constant :WHYS, :DISMISSED

    # How many items a handler worked on, by what it returned.
    #
    # @return [Integer]
    def self.items(returned)
      case returned
      when nil, true then 1
      when false then 0
      when Integer then Convert.size("what the handler returned", returned)
      else raise Convert.wrong_type("what the handler returned", "a number of items, true, false or nil", returned)
      end
    end

    # Makes a call that returns a duty.
    #
    # @param job [String, nil] the job, if a slice of one ended
    # @yield the out-parameters for the duty and the error
    # @return [Duty, nil] nil while a slice runs; in the child of a fork, the parent's slice is aborted
    def self.duty(job, waits: false)
      out = FFI::MemoryPointer.new(Native::Duty.size)
      Call.check(waits: waits) { |error| yield out, error }
      recruited, _, _, took_us, why = out.read_array_of_uint64(5)
      return if why.zero?

      job ? Duty.new(recruited == 1, job, took_us / 1_000_000.0, WHYS[why - 1]).freeze : DISMISSED[why - 1]
    rescue ForkedError
      raise unless job

      Duty.new(false, job, 0.0, :aborted).freeze
    end

    # @return [String] the id of a slice's job
    def self.job(slice)
      out = FFI::MemoryPointer.new(Native::Bytes.size)
      Call.check(waits: false) { |error| Native.millpond_recruiter_slice_job(slice, out, error) }
      address, length = Native::Bytes.rows(out, 1).first
      Call.text(FFI::Pointer.new(address).read_bytes(length)).freeze
    end

    # Makes a call that returns a result, copies the result and frees it.
    #
    # @yield the out-parameters for the result and the error
    # @return [Contents]
    def self.of
      out = FFI::MemoryPointer.new(:pointer)
      Call.check { |error| yield out, error }
      Contents.new(Native.millpond_recruiter_result_data(out.read_pointer))
    ensure
      Native.millpond_recruiter_result_free(out.read_pointer) if out
    end

    # What a result holds.
    class Contents < Millpond::Contents
      attr_reader :stats

      def initialize(pointer)
        super(Native::RecruiterData.new(pointer), nil)
        jobs = rows(:jobs, :job_count, Native::RecruiterJobStats, :job_size).map do |row|
          Records.recruiter_job_stats(row, self)
        end
        @stats = Records.enlistment_stats(rows(:stats, nil, Native::EnlistmentStats).first, self, jobs)
      end
    end
  end
end
