# frozen_string_literal: true

# Names a test that hangs and ends the suite. From another process, since a call that hangs may hold
# the lock of Ruby, and with it every thread that could end it.
module Limit
  SECONDS_MAX = ENV.fetch("MILLPOND_TEST_SECONDS_MAX", "180")
  PROGRAM = File.expand_path("../../../tests/limited", __dir__)

  # @param name [String] the test that begins now
  def self.begin(name)
    @names ||= IO.popen([PROGRAM, SECONDS_MAX, "--parent"], "w").tap do |names|
      names.sync = true
      process = Process.pid
      Minitest.after_run { names.puts if Process.pid == process }
    end
    @names.puts(name)
  end
end
