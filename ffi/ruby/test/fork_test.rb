# frozen_string_literal: true

require "redis"
require_relative "helper"
require_relative "kinds"

# Fork is normal: a client on Redis works in every child, whatever the parent did before.
class ForkTest < MillpondTest
  Kinds.each_loop do |name, kind, how|
    { before: false, after: true }.each do |order, used|
      define_method(:"test_a_child_from_#{order}_the_first_use_of_#{name}") do
        client = connect(Servers.shared.url)
        queue = kind.new(client, name_of_queue)
        other = kind.new(client, "#{name_of_queue}-other")
        kept = queue.public_send(how, 60)
        if used
          queue.put(100)
          assert_equal [100], queue.numbers(kept.next.tap { |batch| queue.finish(batch) })
        end
        in_child do
          queue.put(*0...100)
          seen = queue.public_send(how, 0.1).flat_map { |batch| queue.numbers(batch.tap { queue.finish(batch) }) }
          assert_equal [*0...100], seen.sort
          other.calls.each(&:call)
        end
        queue.put(101)
        assert_equal [101], queue.numbers(kept.next)
      end
    end
  end

  def test_a_child_that_a_thread_makes
    ick = ick_on(Servers.shared.url)
    ick.add([[1, "parent"]])
    waiting = Thread.new { ick.each_batch(1, wait: Float::INFINITY) { sleep } }
    Thread.new { in_child { assert_equal 1, ick.add([[1, "child"]]).new } }.join
    waiting.kill.join
  end

  def test_many_forks_while_threads_work
    client = connect(Servers.shared.url)
    stop = false
    names = Array.new(4) { |number| "#{name_of_queue}-#{number}" }
    threads = names.map do |name|
      Thread.new do
        ick = client.ick(name)
        added = 0
        added += ick.add([[1, added.to_s]]).new until stop
        added
      end
    end
    50.times do
      in_child do
        ick = client.ick("#{name_of_queue}-child-#{Process.pid}")
        20.times { |number| assert_equal 1, ick.add([[1, number.to_s]]).new }
        assert_equal 20, ick.reserve(100).size
      end
    end
    stop = true
    names.zip(threads) do |name, thread|
      assert_operator thread.value, :>, 0
      assert_equal thread.value, client.ick(name).stats.pset_size
    end
  end

  Kinds::WAITING.each do |kind|
    # It waits in threads of the parent's, and in each child for what comes there.
    define_method(:"test_forks_while_threads_wait_in_#{kind.label}") do
      client = connect(Servers.shared.url)
      queue = kind.new(client, name_of_queue)
      how = kind.waits.first
      threads = Array.new(kind::SHARED.empty? ? 1 : 4) { in_thread { queue.wait(how) } }
      own = kind.new(client, "#{name_of_queue}-child")
      5.times do
        in_child do
          kind.waits.each do |wait|
            assert_equal [], own.wait(wait, 0.02) unless wait == :run
            putting = once_it_waits { own.put(1) }
            assert_equal [1], own.wait(wait)
            putting.join
          end
        end
      end
      assert threads.all?(&:alive?)
      queue.put(*0...threads.size)
      assert_equal [*0...threads.size], threads.flat_map(&:value).sort
    end
  end

  Kinds::ALL.each do |kind|
    %w[memory: file:].each do |engine|
      define_method(:"test_#{kind.label}_on_#{engine.chop}_belongs_to_its_process") do
        Dir.mktmpdir do |folder|
          client = connect(engine == "memory:" ? engine : "file:#{folder}/data")
          queue = kind.new(client, "x")
          queue.put(*0...6)
          under_way = queue.under_way
          in_child do
            waits = kind.waits.map { |how| -> { queue.wait(how) } }
            [*queue.calls, *under_way, *waits].each { |call| assert_raises(Millpond::ForkedError, &call) }
            client.close
            Millpond.connect("memory:") do |own|
              other = kind.new(own, "x")
              other.put(1)
              assert_equal [1], other.numbers(other.batches.first)
            end
          end
          under_way.each(&:call)
          queue.put(7)
          close_clients
        end
      end
    end

    # Finalizers run when a child ends by itself; they leave alone what is the parent's.
    define_method(:"test_a_child_that_ends_by_itself_leaves_#{kind.label}_alone") do
      program = <<~'PROGRAM'
        kind = Kinds.const_get(ARGV[0])
        queues = [ARGV[1], "memory:", "file:data"].map { |url| kind.new(Millpond.connect(url), ARGV[2]) }
        under_way = queues.flat_map do |queue|
          queue.put(*0...6)
          queue.under_way
        end
        child = fork do
          queues[0].calls[1].call
          GC.start
          exit 7
        end
        Process.wait(child)
        raise $?.inspect unless $?.exitstatus == 7
        under_way.each(&:call)
        print "end"
      PROGRAM
      Dir.mktmpdir do |folder|
        output, status = run_ruby("-r#{__dir__}/kinds", "-e", program, kind.name[/\w+\z/], Servers.shared.url, name_of_queue,
                                  chdir: folder, seconds: 60)
        assert_equal ["end", true], [output, status.success?]
      end
    end
  end

  PUMA_APP = <<~RUBY
    require "millpond"
    module SendMail
      def self.call(number)
        puts "begin \#{number}"
        sleep 0.01 until File.exist?("stopping")
        sleep 0.5
        puts "end \#{number}"
      end
    end
    $stdout.sync = true
    bind "tcp://127.0.0.1:0"
    app { |_env| raise NotImplementedError }
  RUBY

  # The recipe of the README: SIGTERM lets the jobs that are running end, and no other begins.
  def test_a_worker_in_puma
    recipe, *others = File.read(File.join(GEM_ROOT, "README.md")).scan(/```rb\n(.*?)```/m).flatten
    assert_empty others
    server = own_server
    store = connect(server.url).tasks("shop")
    20.times { |number| store.insert("mails", value: number) }
    lines = Dir.mktmpdir do |folder|
      File.write(File.join(folder, "puma.rb"), PUMA_APP + recipe)
      env = { "REDIS_URL" => server.url, "MILLPOND_LIBRARY" => LIBRARY_PATH, "RUBYLIB" => File.join(GEM_ROOT, "lib") }
      IO.popen(env, %w[puma -C puma.rb], chdir: folder, err: %i[child out]) do |puma|
        puma.each_line.with_object([]) do |line, all|
          all << line
          Process.kill(:TERM, puma.pid) if line.start_with?("begin") && all.grep(/^begin/).size == 10
          FileUtils.touch(File.join(folder, "stopping")) if line.include?("Gracefully shutting down workers")
        end
      end
    end
    assert_equal 10, lines.grep(/^begin/).size, lines.join
    assert_equal lines.grep(/^begin/).map { |line| line.sub("begin", "end") }.sort, lines.grep(/^end/).sort
    assert_equal [10, 10], store.queue_stats.map { |stats| [stats.size, stats.available] }.first
  end

  # What Puma and Unicorn do: the application is loaded and used, then workers are forked, each with
  # threads. While all are at work, every process has connections of its own.
  def test_prefork
    client = connect(Servers.shared.url, client_name: name_of_queue)
    ick = client.ick(name_of_queue)
    ick.add([[1, "parent"]])
    before = local_ports
    reading, writing = IO.pipe
    done_reading, done_writing = IO.pipe
    workers = Array.new(4) do |worker|
      fork do
        done_writing.close
        threads = Array.new(3) do |thread|
          Thread.new { 50.times { |number| ick.add([[1, "#{worker}-#{thread}-#{number}"]]) } }
        end
        threads.each(&:join)
        writing.puts "#{Process.pid} #{local_ports.join(',')}"
        done_reading.read
        exit! 0
      end
    end
    told = Array.new(4) { Timeout.timeout(30) { reading.gets } }.map(&:split)
    assert_equal workers.sort, told.map { |pid, _| Integer(pid) }.sort

    # The server sees the client of each connection; each belongs to one process.
    clients = Redis.new(url: Servers.shared.url).client(:list).select { |one| one["name"] == name_of_queue }
    ports = clients.to_h { |client| [client["addr"].split(":").last, client["id"]] }
    # What the parent had when it forked is open in the children too, but they do not use it.
    ids = told.map { |_, theirs| theirs.split(",") - before } << before
    ids = ids.map { |theirs| ports.values_at(*theirs).compact }
    ids.each { |mine| refute_empty mine }
    assert_equal ids.flatten.uniq, ids.flatten
    assert_equal ports.values.sort, ids.flatten.sort
    assert_equal 4 * 150 + 1, ick.stats.pset_size
  ensure
    done_writing&.close
    workers&.each { |worker| Process.wait(worker) }
  end

  # The ports from which this process is connected to the shared server.
  def local_ports
    server = format("%04X", Servers.shared.started["servers"][0]["port"])
    mine = Dir.children("/proc/self/fd").map do |file|
      File.readlink("/proc/self/fd/#{file}")
    rescue SystemCallError
      nil
    end
    rows = File.readlines("/proc/net/tcp").map(&:split)
    rows.select { |row| row[2].end_with?(":#{server}") && mine.include?("socket:[#{row[9]}]") }
        .map { |row| row[1].split(":").last.hex.to_s }
  end

  # What Resque does: a child for each job, from a parent that works too.
  def test_a_child_a_job
    client = connect(Servers.shared.url, client_name: name_of_queue)
    jobs = client.ick("#{name_of_queue}-jobs")
    done = client.ick("#{name_of_queue}-done")
    jobs.add(Array.new(30) { |number| [number, number.to_s] })
    jobs.each_batch(1) do |batch|
      in_child { done.add([[1, batch[0][0]]]) }
    end
    assert_equal 30, done.stats.pset_size
    # The connections of children that have ended are gone; the parent needed but one of its own.
    admin = Redis.new(url: Servers.shared.url)
    wait_until { admin.client(:list).count { |one| one["name"] == name_of_queue } == 1 }
  end

  def test_no_thread_is_left_behind
    work = lambda do
      Millpond.connect(Servers.shared.url) do |client|
        ick = client.ick(name_of_queue)
        ick.each_batch(1, wait: 0.01).to_a
        ick.lease(ttl: 10) { |lease| lease.each_batch(1, wait: 0.01).to_a }
      end
    end
    work.call
    in_child do
      work.call
      no_thread_a_turn { 30.times { work.call } }
    end
    no_thread_a_turn { 30.times { work.call } }
  end

  # The few threads of the process come and go, so this is about one for each of thirty turns.
  def no_thread_a_turn
    before = threads_of_process
    yield
    wait_until { threads_of_process < before + 10 }
  end

  # What is held until it is released: how it is taken.
  HELD = {
    lease: ->(client, name, &block) { client.ick(name).lease(ttl: 30, &block) },
    lock: ->(client, name, &block) { client.volatile_hash(name).lock("a", ttl: 30, &block) }
  }.freeze

  HELD.each do |kind, take|
    define_method(:"test_a_child_does_not_give_back_its_parents_#{kind}") do
      client = connect(Servers.shared.url)
      held = [take.call(client, name_of_queue)]
      in_child do
        client.ick(name_of_queue).stats
        held.clear
        5.times { GC.start }
        sleep 0.2
      end
      in_child { raise "released" if held[0].release }
      assert_nil take.call(client, name_of_queue)
      assert held[0].release
    end
  end

  def test_a_child_from_inside_of_a_leases_block
    program = <<~'PROGRAM'
      ick = Millpond.connect(ARGV[0]).ick(ARGV[1])
      ick.add([[1, "a"]])
      ick.lease(ttl: 30) do |lease|
        child = fork
        exit if child.nil?
        Process.wait(child)
        raise $?.inspect unless $?.success?
        raise "a second consumer" if ick.lease(ttl: 30)
        print lease.reserve(1)
      end
      print " given back" if ick.lease(ttl: 30)
    PROGRAM
    output, status = run_ruby("-rmillpond", "-e", program, Servers.shared.url, name_of_queue, seconds: 30)
    assert_equal ['[["a", 1.0]] given back', true], [output, status.success?]
  end

  def test_a_child_from_inside_of_a_locks_block
    program = <<~'PROGRAM'
      hash = Millpond.connect(ARGV[0]).volatile_hash(ARGV[1])
      hash.lock("a", ttl: 30) do |lock|
        child = fork
        exit if child.nil?
        Process.wait(child)
        raise $?.inspect unless $?.success?
        raise "a second holder" if hash.lock("a", ttl: 30)
        lock.set("set", ttl: 30)
      end
      print hash.get("a"), " given back" if hash.lock("a", ttl: 30)
    PROGRAM
    output, status = run_ruby("-rmillpond", "-e", program, Servers.shared.url, name_of_queue, seconds: 30)
    assert_equal ["set given back", true], [output, status.success?]
  end

  def test_daemon
    Dir.mktmpdir do |folder|
      program = <<~'PROGRAM'
        ick = Millpond.connect(ARGV[0]).ick(ARGV[1])
        ick.add([[1, "parent"]])
        Process.daemon
        ick.add([[1, "daemon"]])
      PROGRAM
      run_ruby("-rmillpond", "-e", program, Servers.shared.url, name_of_queue, chdir: folder, seconds: 30)
      ick = connect(Servers.shared.url).ick(name_of_queue)
      wait_until { ick.stats&.pset_size == 2 }
    end
  end
end
