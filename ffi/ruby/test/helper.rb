# frozen_string_literal: true

require "json"
require "minitest/autorun"
require "open3"
require "rbconfig"
require "securerandom"
require "set"
require "timeout"
require "tmpdir"

require "millpond"
require_relative "limit"
require_relative "servers"

# A shell that starts the suite in the background has it ignore Ctrl-C, which tests send.
trap(:INT, "DEFAULT")

ROOT = File.expand_path("../../..", __dir__)
GEM_ROOT = File.expand_path("..", __dir__)
LIBRARY_PATH = Millpond::Native.ffi_libraries.first.name

# What all tests share.
class MillpondTest < Minitest::Test
  # Seconds in which a busy machine does what takes no time; what must not happen takes longer.
  SOON = 20

  # Seconds until a test gives up waiting for what it expects.
  PATIENCE = 60

  # Defines a test for each backend; the block gets a URL. Everything that it opens on a file is
  # gone when it ends.
  def self.on_every_backend(name, &body)
    define_method(:"test_#{name}_memory") { instance_exec("memory:", &body) }
    define_method(:"test_#{name}_redis") { instance_exec(Servers.shared.url, &body) }
    define_method(:"test_#{name}_file") do
      Dir.mktmpdir do |folder|
        instance_exec("file:#{folder}/data", &body)
      ensure
        close_clients
      end
    end
  end

  def before_setup
    Limit.begin("#{self.class}##{name}")
    super
  end

  # Another thread can change a string between any two lines. These are longer at each access, which is the same without
  # chance.
  class Changing < String
    def bytesize
      super + 50_000_000
    end
  end

  # What no error says to a caller in Ruby.
  NAMES_OF_C = /MILLPOND_NOT_SET|(?:timeout|lease|backoff|backoff_max|wait|delay|ttl|keep_consumers)_ms/

  def assert_raises(*)
    super.tap { |error| refute_match NAMES_OF_C, error.message }
  end

  # The name of a queue that no other test uses.
  def name_of_queue
    @name_of_queue ||= SecureRandom.hex(8)
  end

  # A client that is closed when the test ends.
  def connect(url, **options)
    client = Millpond.connect(url, **options)
    (@clients ||= []) << client
    client
  end

  # An Ick that no other test uses.
  def ick_on(url, **options)
    connect(url, **options).ick(name_of_queue)
  end

  # A shuffle queue that no other test uses. The servers of tests are shared, so that the records
  # of tracked messages are its own too.
  def shuffle_queue_on(url, **settings)
    connect(url).shuffle_queue(name_of_queue, track_keys: :queue, **settings)
  end

  # A store of tasks that no other test uses.
  def store_on(url, **settings)
    connect(url).tasks(name_of_queue, **settings)
  end

  # A queue of a kind of Kinds that no other test uses.
  def queue_of(kind, url)
    kind.new(connect(url), name_of_queue)
  end

  def modification
    Millpond::Modification.new
  end

  # The URL with leases that are renewed ten times a second, however long they are: a test sees a renewal soon, and
  # loses no lease where the machine stands still.
  def renewing(url)
    "#{url}?renew_every=100ms"
  end

  # The URL of a client that looks for work when it is woken, and not every few seconds as well: what a wait returns
  # then shows that the wake-up came.
  def only_woken(url)
    "#{url}?poll=never"
  end

  # Deletes the task of a job, which may be renewed at the same moment.
  def delete_held(store, job)
    wait_until do
      store.modify(modification.delete(job.handle))
    rescue Millpond::DependencyError
      false
    end
  end

  # Messages to write, each for a tenant of its own.
  def numbered(count)
    Array.new(count) { |number| ["tenant-#{number}", { "n" => number.to_s }] }
  end

  def numbers(messages)
    messages.map { |message| Integer(message["n"]) }
  end

  # What is logged meanwhile has this.
  def assert_logs(expected)
    before = Millpond.logger
    Millpond.logger = Logger.new(lines = StringIO.new, progname: "millpond")
    yield
    assert_match expected, lines.string
  ensure
    Millpond.logger = before
  end

  def own_server(kind = "redis")
    server = Servers.new(kind)
    (@servers ||= []) << server
    server
  end

  def teardown
    close_clients
    @servers&.each(&:close)
  end

  def close_clients
    @clients&.each(&:close)
    @clients = nil
  end

  # Returns once it holds.
  def wait_until
    Timeout.timeout(PATIENCE) { sleep 0.005 until yield }
  end

  # A thread that waits in a call.
  def in_thread(&work)
    thread = Thread.new(&work)
    thread.report_on_exception = false
    wait_until { thread.status == "sleep" }
    sleep 0.05 # in the last one, if it makes several
    thread
  end

  # Does it in a thread once the caller's thread waits in a call, which is the next thing that it does.
  def once_it_waits(&work)
    waiting = Thread.current
    Thread.new do
      wait_until { waiting.status == "sleep" }
      sleep 0.05 # in the last one, if it makes several
      work.call
    end
  end

  # Presses Ctrl-C while the call waits; it has to end what is under way, which else takes a minute.
  def assert_interrupted(&call)
    pressing = once_it_waits do
      Process.kill(:INT, Process.pid)
      now
    end
    assert_raises(Interrupt, &call)
    assert_operator now - pressing.value, :<, SOON
  end

  # Does it in a child, which may neither fail nor hang.
  def in_child(seconds = 60)
    child = fork do
      yield
      $stderr.flush
      exit! 0
    rescue Exception => failure
      warn "child: #{failure.full_message}"
      exit! 1
    end
    status = Timeout.timeout(seconds) { Process.wait2(child).last }
    assert status.success?, status.inspect
  rescue Timeout::Error
    Process.kill(:KILL, child)
    Process.wait(child)
    flunk "the child hangs"
  end

  # Runs a program of Ruby with this gem.
  def run_ruby(*arguments, env: {}, chdir: ROOT, seconds: 120)
    command = [RbConfig.ruby, "-I", File.join(GEM_ROOT, "lib"), *arguments]
    env = { "MILLPOND_LIBRARY" => LIBRARY_PATH }.merge(env)
    Timeout.timeout(seconds) { Open3.capture2e(env, *command, chdir: chdir) }
  end

  def seconds
    began = now
    yield
    now - began
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  def resident_bytes
    3.times { GC.start }
    Integer(File.read("/proc/self/status")[/^VmRSS:\s+(\d+) kB/, 1]) * 1024
  end

  GROWTH_BYTES_MAX = 8 * 1024 * 1024

  # What leaks grows each time; the heap of a process that has done other things may grow once.
  #
  # @return [Integer] by how many bytes the process grew
  def assert_does_not_grow(most = GROWTH_BYTES_MAX)
    growths = []
    3.times do
      before = resident_bytes
      yield
      growths << (resident_bytes - before)
      break if growths.last < most
    end
    assert_operator growths.last, :<, most, growths.inspect
    growths.last
  end

  def threads_of_process
    Dir.children("/proc/self/task").size
  end
end
