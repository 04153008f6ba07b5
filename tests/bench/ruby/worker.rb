# frozen_string_literal: true

# Jobs per second through a worker, ours and the peer's, of all that MEASURED names in turn, round by round;
# prints a list of rows as JSON.
#
# A round enqueues its jobs, starts a worker on them, and counts from the start of the first job
# until the last has ended in the store, which then holds none of them.
#
# Arguments: the server's URL. All that it holds is deleted. Sidekiq is that of the system, with
# hiredis for redis-rb: Debian's ruby-sidekiq and ruby-hiredis.

$LOAD_PATH.unshift(File.expand_path("../../../ffi/ruby/lib", __dir__))

require "json"
require "millpond"
require "sidekiq/cli"

require_relative "measure"

ROUNDS = 3
BATCH = 1_000
WAIT_S = 0.005
SIDEKIQ = "Sidekiq #{Sidekiq::VERSION}"

URL = ARGV.fetch(0)

# What is done, by how many jobs, and how many at once: 100, or fewer where those take no time and Sidekiq
# does more of them so.
MEASURED = { "no-op" => [60_000, nil, 10], "wait 5 ms" => [30_000, WAIT_S, 100] }.freeze

# Our queues: each is filled, and returns what makes its worker, and what tells how much is left in it.
OURS = {
  "tasks" => lambda do |client, total|
    store = client.tasks("bench")
    (0...total).each_slice(BATCH) do |numbers|
      modification = Millpond::Modification.new
      numbers.each { |number| modification.insert("q", value: { "number" => number }) }
      store.modify(modification)
    end
    [->(**settings) { store.worker("q", **settings) }, -> { store.queues.fetch("q", 0) }]
  end,
  "shuffle queue" => lambda do |client, total|
    queue = client.shuffle_queue("q", streams: 64, streams_per_shard: 4)
    (0...total).each_slice(BATCH) do |numbers|
      queue.write_many(numbers.map { |number| [(number * 7 % 40).to_s, { "number" => number.to_s }] })
    end
    consumer = queue.consumer("workers", "worker-1")
    [->(**settings) { consumer.worker(delete: true, **settings) }, -> { queue.len }]
  end
}.freeze

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

# Works on `total` jobs of one of Millpond's queues once; returns how many that were per second.
def millpond(fill, total, wait_s, concurrent)
  Sidekiq.redis(&:flushall)
  client = Millpond.connect(URL)
  made, left = fill.call(client, total)
  worker = made.call(concurrency: concurrent, prefetch: 100)
  times = []
  worker.run do
    times << now
    worker.stop if times.size == total
    sleep(wait_s) if wait_s
    nil
  end
  rate = total / (now - times.first)
  raise "#{left.call} jobs are left" unless left.call.zero?

  client.close
  rate
end

# A job, which writes down when it began and when it ended.
class Work
  include Sidekiq::Worker

  class << self
    attr_accessor :times
  end

  def perform(number, wait_s)
    times = self.class.times
    times[2 * number] = now
    sleep(wait_s) if wait_s
    times[(2 * number) + 1] = now
  end
end

# The same of Sidekiq, which takes a job out of the store when it begins, so nothing of a job is left there
# when its handler has ended.
def sidekiq(total, wait_s, concurrent)
  Sidekiq.redis(&:flushall)
  (0...total).each_slice(BATCH) do |numbers|
    Sidekiq::Client.push_bulk("class" => Work, "args" => numbers.map { |number| [number, wait_s] })
  end
  times = Work.times = Array.new(2 * total)
  launcher = Sidekiq::Launcher.new(Sidekiq.options.merge(concurrency: concurrent, queues: ["default"]))
  launcher.run
  times.each_index { |index| sleep(0.002) until times[index] }
  launcher.stop
  total / (times.max - times.min)
end

# The faster of its drivers, a connection for each thread, and no line in the log for each job.
connections = MEASURED.values.map(&:last).max + 5
Sidekiq.logger.level = Logger::WARN
Sidekiq.redis = { url: URL, driver: :hiredis, size: connections }
Redis.silence_deprecations = true # of each job: Sidekiq 6 is older than redis-rb 4.8

rows = MEASURED.flat_map do |name, (total, wait_s, concurrent)|
  workers = OURS.transform_values { |fill| -> { millpond(fill, total, wait_s, concurrent) } }
  figures = in_turn(ROUNDS, workers.merge(SIDEKIQ => -> { sidekiq(total, wait_s, concurrent) }))
  OURS.keys.map do |queue|
    with_figures({ name: "#{name}, #{queue}", concurrent: concurrent, peer: SIDEKIQ }, figures[queue], figures[SIDEKIQ])
  end
end
puts JSON.generate(rows)
