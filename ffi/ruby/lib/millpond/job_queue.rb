# frozen_string_literal: true

require "millpond/report"

module Millpond
  # What the functions of workers of one kind of queue are called, and what their jobs are in Ruby.
  #
  # @api private
  class JobQueue
    # @param name [String] of the functions
    # @yield makes a job of a handle or nil, and of the report that it is in, if it is
    def initialize(name, &job)
      @functions = Hash.new { |all, function| all[function] = :"millpond_#{name}_#{function}" }
      @handles = Hash.new { |all, kind| all[kind] = Native.const_get("#{name.capitalize}#{kind}") }
      @job = job
    end

    def call(function, *arguments)
      Native.public_send(@functions[function], *arguments)
    end

    # @return [Class]
    def handle(kind)
      @handles[kind]
    end

    def job(native)
      @job.call(native, call(:job_data, native))
    end

    # @return [Report]
    def report(native)
      data = Native::ReportData.new(call(:report_data, native))
      found = [data[:task], data[:shuffle_message], data[:event]].find { |pointer| !pointer.null? }
      Report.of(data, found && @job.call(nil, found))
    ensure
      native.free
    end
  end
end
