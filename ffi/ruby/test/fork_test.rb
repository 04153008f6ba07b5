# frozen_string_literal: true

require "redis"
require_relative "helper"

# Fork is normal: a client on Redis works in every child, whatever the parent did before.
class ForkTest < MillpondTest
  def works_in_a_child(used)
    ick = ick_on(Servers.shared.url)
    ick.add([[1, "parent"]]) if used
    in_child do
      100.times { |number| assert_equal 1, ick.add([[1, number.to_s]]).new }
      assert_equal used ? 101 : 100, ick.each_batch(30, wait: 0.1).sum(&:size)
    end
    assert_equal 1, ick.add([[1, "after"]]).new
    assert_equal [["after", 1.0]], ick.reserve(10)
  end

  def test_a_child_from_before_the_first_use
    works_in_a_child(false)
  end

  def test_a_child_from_after_the_first_use
    works_in_a_child(true)
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

  def embedded_client_belongs_to_its_process(url)
    client = connect(url)
    ick = client.ick("x")
    ick.add([[1, "a"]])
    batches = ick.each_batch(1, wait: Float::INFINITY)
    batches.next
    in_child do
      assert_raises(Millpond::ForkedError) { ick.add([[1, "b"]]) }
      assert_raises(Millpond::ForkedError) { ick.stats }
      assert_raises(Millpond::ForkedError) { batches.next }
      client.close
      Millpond.connect("memory:") { |own| assert_equal 1, own.ick("x").add([[1, "a"]]).new }
    end
    assert_equal 1, ick.add([[1, "c"]]).new
  end

  def test_a_client_in_memory_belongs_to_its_process
    embedded_client_belongs_to_its_process("memory:")
  end

  def test_a_client_on_a_file_belongs_to_its_process
    Dir.mktmpdir do |folder|
      embedded_client_belongs_to_its_process("file:#{folder}/data")
      close_clients
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

  def test_a_child_does_not_give_back_its_parents_lease
    ick = ick_on(Servers.shared.url)
    held = [ick.lease(ttl: 30)]
    in_child do
      ick.stats
      held.clear
      5.times { GC.start }
      sleep 0.2
    end
    assert_nil ick.lease(ttl: 30)
    assert held[0].release
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

  # Finalizers run when a child ends by itself; they leave alone what is the parent's.
  def test_a_child_that_ends_by_itself
    program = <<~'PROGRAM'
      icks = [ARGV[0], "memory:", "file:data"].map { |url| Millpond.connect(url).ick(ARGV[1]) }
      icks.each { |ick| ick.add([[1, "a"]]) }
      kept = [icks[0].each_batch(1, wait: 60).tap(&:next), icks[0].lease(ttl: 30),
              icks[2].each_batch(1, wait: 60).tap(&:next)]
      child = fork do
        icks[0].stats
        GC.start
        exit 7
      end
      Process.wait(child)
      raise $?.inspect unless $?.exitstatus == 7
      icks[2].add([[1, "b"]])
      raise "lease" unless kept[1].release
    PROGRAM
    5.times do |turn|
      Dir.mktmpdir do |folder|
        output, status = run_ruby("-rmillpond", "-e", program, Servers.shared.url,
                                  "#{name_of_queue}-#{turn}", chdir: folder, seconds: 30)
        assert_equal ["", true], [output, status.success?]
      end
    end
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
