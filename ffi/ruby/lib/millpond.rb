# frozen_string_literal: true

require "logger"

# ffi rescues every exception while it loads and while it lays out structures. A SIGTERM that arrived then would be
# lost, and the program that it was meant to end would start its work. So signals are deferred until everything is
# loaded. Ruby raises the exception of SIGINT immediately, which this cannot defer.
Thread.handle_interrupt(SignalException => :never) do
  require "millpond/version"
  require "millpond/errors"
  require "millpond/client"
  require "millpond/script"
end

# Queues for programs in several languages that share one Redis, or need no server. The work is done by
# libmillpond; see {Millpond.connect}, {TaskStore}, {EventQueue}, {ShuffleQueue}, {Ick}, {VolatileHash},
# {Recruiter}, {QueueTracker} and {Error}.
module Millpond
  # The version of libmillpond.
  #
  # @return [String]
  #
  # @example
  #   Millpond.library_version # => "0.1.0"
  def self.library_version
    Native.millpond_version
  end

  # The logger to which workers report problems, unless they have an `on_error`; by default it writes to `$stderr`.
  #
  # @return [Logger]
  #
  # @example
  #   Millpond.logger.progname # => "millpond"
  def self.logger
    @logger ||= Logger.new($stderr, progname: "millpond")
  end

  # Sets the logger, for example to that of Rails.
  #
  # @param logger [Logger]
  # @return [Logger]
  #
  # @example
  #   Millpond.logger = Logger.new($stdout, progname: "mails")
  def self.logger=(logger)
    @logger = logger
  end
end
