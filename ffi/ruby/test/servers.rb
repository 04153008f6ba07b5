# frozen_string_literal: true

require "json"

# Redis servers of our own: the binary millpond-test-servers of the workspace starts them. They die
# with this process.
class Servers
  # The server that tests share; they leave nothing behind that could affect others.
  def self.shared
    @shared ||= new("redis").tap { |servers| Minitest.after_run { servers.close } }
  end

  def self.binary
    @binary ||= ENV["MILLPOND_TEST_SERVERS"] || built
  end

  def self.built
    workspace = File.expand_path("../../..", __dir__)
    arguments = %w[--quiet -p millpond-tests --bin millpond-test-servers]
    system("cargo", "build", *arguments, chdir: workspace, exception: true)
    File.join(ENV["CARGO_TARGET_DIR"] || File.join(workspace, "target"), "debug", "millpond-test-servers")
  end
  private_class_method :built

  # What it reports: its addresses, and with TLS the file of its authority.
  attr_reader :started

  def initialize(kind)
    @process = Process.pid
    @pipe = IO.popen([Servers.binary, kind], "r+")
    @started = JSON.parse(@pipe.gets)
  end

  def url
    started["url"]
  end

  def unix_url
    started["unix_url"]
  end

  # URLs of each server alone.
  def urls
    started["servers"].map { |server| "redis://127.0.0.1:#{server['port']}" }
  end

  # Kills, stops, continues or restarts it: see the binary.
  def run(command)
    @pipe.puts(command)
    response = @pipe.gets
    raise "#{command}: #{response}" unless response == "ok\n"
  end

  def close
    # The child of a fork has a copy of the pipe, but the servers are its parent's.
    @pipe.close if @process == Process.pid && !@pipe.closed?
  end
end
