# frozen_string_literal: true

require "millpond/report"

module Millpond
  # The names of the library's worker functions for one kind of queue, and the Ruby objects for its
  # jobs.
  #
  # @api private
  class JobQueue
    # @param name [String] the kind of queue in the functions' names
    # @yield makes a job from a handle, or from nil for the job of a report, and from the data of
    #   its task, message or event
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
      found = call(:report_job_data, native)
      Report.of(data, found.null? ? nil : @job.call(nil, found))
    ensure
      native.free
    end
  end
end
