# frozen_string_literal: true

require "millpond"

# Each kind of queue is a row of this table, so that what is true of every loop and every call is written once. A new
# kind of queue is a class here, and a place in ALL.
#
# An item is a number. LOOPS are enumerators of batches, CALLS return numbers; both are given the seconds that they wait
# at most. In those of SHARED many threads can wait, and each gets an item of its own. RUNS are the ways in which workers
# work.
module Kinds
  FOR_EVER = Float::INFINITY

  # What rows share.
  class Kind
    SHARED = [].freeze
    RUNS = [].freeze

    def self.label
      name[/\w+\z/].downcase
    end

    # All that waits.
    def self.waits
      self::LOOPS + self::CALLS
    end

    # Waits in a loop, which then ends, or in a call.
    #
    # @return [Array<Integer>] the numbers of the items, which are done; none if the time was over
    def wait(how, seconds = FOR_EVER)
      return public_send(how, seconds) unless self.class::LOOPS.include?(how)

      batch = public_send(how, seconds).first || []
      finish(batch)
      numbers(batch)
    end

    # The batches of a loop until there is nothing left.
    def batches
      public_send(self.class::LOOPS.first, 0)
    end

    # Yields the numbers of each batch of one loop, or of one call after the other.
    def each(how)
      return loop { yield wait(how) } unless self.class::LOOPS.include?(how)

      public_send(how, FOR_EVER).each do |batch|
        finish(batch)
        yield numbers(batch)
      end
    end
  end

  # What kinds with workers share: they have a `worker`, a `quick_worker` that makes what failed again soon, and the
  # `number` and `failures` of a job. What is done is in `results`.
  module Works
    def run(_seconds)
      numbers = []
      one = worker
      one.run(stop_on_signals: false) do |job|
        one.stop
        numbers << number(job)
        nil
      end
      numbers
    end

    # Works until there is nothing left, or until a stop.
    def work(worker, how)
      worker.public_send(how, on_error: ->(*) {}) { |job| done(job) }
    end

    def done(job)
      (@results ||= Thread::Queue.new) << number(job)
      nil
    end

    def results
      Array.new(@results.size) { @results.pop }.uniq.sort
    end
  end

  class Ick < Kind
    LOOPS = %i[each_batch].freeze
    CALLS = %i[lease].freeze

    def initialize(client, name)
      @ick = client.ick(name)
    end

    def put(*numbers)
      @ick.add(numbers.map { |number| [number, number.to_s] })
    end

    def each_batch(seconds)
      @ick.each_batch(1, wait: seconds)
    end

    def lease(seconds)
      @ick.lease(ttl: 60) do |lease|
        batch = lease.each_batch(1, wait: seconds).first || []
        lease.commit(batch.map(&:first))
        numbers(batch)
      end
    end

    def finish(batch)
      @ick.commit(batch.map(&:first))
    end

    def numbers(batch)
      batch.map { |member, _| Integer(member) }
    end

    # Calls that can be made at any time.
    def calls
      [-> { @ick.add([[9, "9"]]) }, -> { @ick.stats }, -> { @ick.peek(1) }, -> { @ick.reserve(1) }]
    end

    # Calls of what a program is in the middle of, some items being there.
    def under_way
      batches = each_batch(60).tap(&:next)
      lease = @ick.lease(ttl: 60)
      release = lambda do
        lease.reserve(1)
        raise "the lease was lost" unless lease.release
      end
      [-> { batches.next }, release]
    end
  end

  class Channel < Ick
    CALLS = [].freeze

    def initialize(client, name)
      @channel = client.ick_channel(name, 2)
    end

    def put(*numbers)
      @channel.add(numbers.map { |number| [number, number.to_s] })
    end

    def each_batch(seconds)
      @channel.each_batch([0, 1], 1, wait: seconds)
    end

    def finish(batch)
      batch.each { |member, _| @channel.ick(@channel.ick_of(member)).commit([member]) }
    end

    def calls
      [-> { put(9) }, -> { @channel.ick(0).stats }, -> { each_batch(0).first }]
    end

    def under_way
      batches = each_batch(60).tap(&:next)
      [-> { batches.next }]
    end
  end

  class Shuffle < Kind
    include Works
    LOOPS = %i[messages].freeze
    CALLS = %i[read read_many run].freeze
    SHARED = %i[messages read run].freeze
    RUNS = %i[run drain].freeze

    def initialize(client, name)
      @queue = client.shuffle_queue(name, track_keys: :queue)
      @consumer = @queue.consumer("g", "c")
    end

    def put(*numbers)
      return @queue.write("t", { "n" => numbers[0].to_s }) if numbers.one?

      @queue.write_many(numbers.map { |number| ["tenant-#{number}", { "n" => number.to_s }] })
    end

    def messages(seconds)
      @consumer.messages(max: 1, wait: seconds)
    end

    def read(seconds)
      numbers([@consumer.read(wait: seconds)].compact)
    end

    def read_many(seconds)
      numbers(@consumer.read_many(10, wait: seconds))
    end

    def finish(batch)
      @consumer.ack(batch)
    end

    def numbers(batch)
      batch.map { |message| Integer(message["n"]) }
    end

    def worker(**settings)
      @consumer.worker(**settings)
    end

    def quick_worker
      worker(lease: 0.5, backoff: 0.01, concurrency: 2)
    end

    def number(job)
      Integer(job.message["n"])
    end

    def failures(job)
      job.message.deliveries - 1
    end

    def empty?
      @queue.backlog.zero? && @queue.pending_count("g").zero?
    end

    def calls
      tracked = -> { @queue.write_tracked("t", { "job" => "own", "n" => "9" }, "job") }
      [-> { put(9) }, -> { @queue.len }, -> { @consumer.read }, tracked, -> { @queue.delete_tracked("own") },
       -> { @queue.gc.to_a }]
    end

    def under_way
      batches = messages(60).tap(&:next)
      @queue.write_tracked("t", { "job" => "j", "n" => "9" }, "job", deadline: 5)
      garbage = @queue.gc
      values = garbage.each.tap(&:next)
      collect = lambda do
        loop { values.next }
        raise "another deleted it" unless garbage.deleted == 1
      end
      [-> { batches.next }, collect, -> { garbage.to_a }]
    end
  end

  class Tasks < Kind
    include Works
    LOOPS = %i[claims].freeze
    CALLS = %i[jobs run].freeze
    SHARED = %i[claims jobs run].freeze
    RUNS = %i[run drain jobs].freeze

    def initialize(client, name)
      @store = client.tasks(name)
    end

    def put(*numbers, **time)
      @store.modify(numbers.reduce(Millpond::Modification.new) { |all, number| all.insert("q", value: number, **time) })
    end

    def claims(seconds)
      @store.claims("q", wait: seconds)
    end

    def jobs(seconds)
      @store.worker("q", wait: seconds).jobs.first(1).map do |job|
        job.done
        number(job)
      end
    end

    def finish(batch)
      @store.modify(batch.reduce(Millpond::Modification.new) { |all, task| all.delete(task) })
    end

    def numbers(batch)
      batch.map(&:value)
    end

    def worker(**settings)
      @store.worker("q", **settings)
    end

    def quick_worker
      worker(lease: 0.3, backoff: 0.01, backoff_max: 0.01, max_attempts: 1_000, max_crashes: 1_000)
    end

    def number(job)
      job.task.value
    end

    def failures(job)
      job.task.attempt
    end

    def work(worker, how)
      return super unless how == :jobs

      worker.jobs do |job|
        job.finish(done(job))
      rescue Millpond::DependencyError
        # Refused only because the machine stood still for a whole lease: the task is available again.
        raise if @store.time < job.task.at_ms
      end
    end

    # Each is done once.
    def done(job)
      job.delete.insert("done", value: number(job))
    end

    def results
      @store.list("done").tasks.map(&:value).sort
    end

    def empty?
      @store.are_empty?(exact: "q")
    end

    def calls
      [-> { put(9) }, -> { @store.queues }, -> { @store.time }, -> { @store.claim("q") }, -> { @store.list("q") },
       -> { @store.worker("none").drain { nil } }]
    end

    def under_way
      batches = claims(60).tap(&:next)
      jobs = @store.worker("q").jobs
      job = jobs.next
      [-> { batches.next }, -> { job.done }, -> { jobs.next }]
    end
  end

  class Events < Kind
    include Works
    LOOPS = %i[deliveries].freeze
    CALLS = %i[run].freeze
    SHARED = %i[deliveries run].freeze
    RUNS = %i[run drain].freeze

    def initialize(client, name)
      @queue = client.events(name)
    end

    def put(*numbers, **time)
      @queue.publish_many(numbers.map { |number| { payload: number.to_s, **time } })
    end

    def deliveries(seconds)
      @queue.deliveries(wait: seconds)
    end

    def finish(batch)
      @queue.ack_many(batch)
    end

    def numbers(batch)
      batch.map { |event| Integer(event.payload) }
    end

    def worker(**settings)
      @queue.worker(**settings)
    end

    def quick_worker
      @queue.configure(backoff_min: 0.01, backoff_max: 0.01, max_attempts: 1_000, max_crashes: 1_000)
      worker(lease: 1, concurrency: 2)
    end

    def number(job)
      Integer(job.event.payload)
    end

    def failures(job)
      job.event.attempts - 1
    end

    def empty?
      @queue.stats.events.zero?
    end

    def calls
      [-> { put(9) }, -> { @queue.receive }, -> { @queue.stats }, -> { @queue.list(:ready) }, -> { @queue.list_schedules }]
    end

    def under_way
      batches = deliveries(60).tap(&:next)
      event, = @queue.receive
      [-> { batches.next }, -> { @queue.ack(event) }]
    end
  end

  # Where nothing waits.
  class Volatile < Kind
    LOOPS = CALLS = [].freeze

    def initialize(client, name)
      @hash = client.volatile_hash(name)
    end

    def put(*numbers)
      numbers.map(&:to_s).all? { |field| @hash.set_if_absent(field, field, ttl: 3_600) }
    end

    # Pages of one field.
    def batches
      return enum_for(:batches) unless block_given?

      page = nil
      until page && page.next.nil?
        page = @hash.fields(after: page&.next, limit: 1)
        yield page.fields unless page.fields.empty?
      end
    end

    def finish(batch)
      @hash.delete(batch.map(&:field))
    end

    def numbers(batch)
      batch.map { |field| Integer(field.value) }
    end

    def calls
      [-> { put(9) }, -> { @hash.stats }, -> { @hash.get("9") }, -> { @hash.set("9", "9", ttl: 60) }, -> { @hash.reap },
       -> { @hash.acquire("9", "me", ttl: 60) }, -> { @hash.get_or_acquire("none", "me", ttl: 60) }, -> { @hash.fields },
       -> { @hash.lock("lock", ttl: 60) }]
    end

    def under_way
      @hash.acquire("9", "me", ttl: 3_600)
      [-> { @hash.set_locked("9", "me", "9", ttl: 60) }, -> { @hash.release("9", "me") }]
    end
  end

  # Where nothing waits either. An item is an id, and a batch what a prune checks and removes.
  class Tracker < Kind
    LOOPS = CALLS = [].freeze

    def initialize(client, name)
      @tracker = client.queue_tracker(name)
    end

    # Each in a step of its own, so that their order is that of the numbers.
    def put(*numbers)
      numbers.each { |number| @tracker.add(number.to_s) }
    end

    def batches
      return enum_for(:batches) unless block_given?

      pruned = nil
      until pruned&.checked == 0
        pruned = @tracker.prune(limit: 1) do |ids|
          yield ids
          ids
        end
      end
    end

    # A prune has done it.
    def finish(_batch); end

    def numbers(batch)
      batch.map { |id| Integer(id) }
    end

    def calls
      [-> { put(9) }, -> { @tracker.stats }, -> { @tracker.queued?("9") }, -> { @tracker.are_queued?(%w[8 9]) },
       -> { @tracker.ids }, -> { @tracker.len }, -> { @tracker.scan { [[9, "9"]] } }, -> { @tracker.prune { [] } }]
    end

    def under_way
      sample = @tracker.sample(limit: 1)
      [-> { @tracker.remove(sample.ids, sample.ids, sample.stamp) }]
    end
  end

  ALL = [Ick, Channel, Shuffle, Tasks, Events, Volatile, Tracker].freeze
  WAITING = ALL.reject { |kind| kind.waits.empty? }.freeze
  WITH_WORKERS = ALL.select { |kind| kind.include?(Works) }.freeze

  # Yields each loop and call that waits: its name in tests, its kind, and its own name.
  def self.each_wait
    ALL.each { |kind| kind.waits.each { |how| yield "#{kind.label}_#{how}", kind, how } }
  end

  # Yields each loop.
  def self.each_loop
    ALL.each { |kind| kind::LOOPS.each { |how| yield "#{kind.label}_#{how}", kind, how } }
  end
end
