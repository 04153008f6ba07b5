# frozen_string_literal: true

require_relative "helper"
require_relative "scheduler"

# A recruiter: what handlers return and raise, what ends a run, interrupts, forks and servers that are away.
class RecruiterTest < MillpondTest
  INVALID = Millpond::InvalidArgumentError

  # The first ask of a process is within this.
  FIRST = 5

  # A recruiter that no other test uses. It rests after no slice, and waits for a machine that stands still.
  def recruiter_on(url, **options)
    recruiter = connect(url, **options).recruiter(name_of_queue)
    recruiter.set_duty_max(1)
    recruiter.set_decision_timeout(1)
    @told = Queue.new
    recruiter.on_error { |job, error| @told << [job, error] }
    recruiter
  end

  # One whose time the test moves, and which may ask.
  def recruiter_on_clock(**options)
    @clock = Millpond::ManualClock.new
    recruiter = recruiter_on("memory:", clock: @clock, **options)
    @clock.advance(FIRST)
    recruiter
  end

  # What the hook was told since the last time.
  def told
    Array.new(@told.size) { @told.pop }
  end

  # What a handler that is this block makes of an enlistment.
  def enlist_once(recruiter, **options, &handler)
    recruiter.install("job", share: 1, **options, &handler)
    recruiter.enlist
  ensure
    recruiter.uninstall("job")
  end

  # What has been reported of the only job, when it is as many slices. Nothing is reported without a stop.
  def stats_of(recruiter, slices)
    recruiter.stop
    found = nil
    wait_until do
      found = recruiter.stats.jobs.first
      found && [found.worked, found.nothing, found.aborted, found.failed].sum >= slices
    end
    found
  end

  def refused(message, kind = INVALID, &call)
    assert_match message, assert_raises(kind, &call).message
  end

  RETURNS = [[nil, :worked, 1], [true, :worked, 1], [1, :worked, 1], [7, :worked, 7], [false, :nothing, 0],
             [0, :nothing, 0]].freeze

  on_every_backend :a_handler_returns_how_many_items_it_worked_on do |url|
    recruiter = recruiter_on(url)
    RETURNS.each do |returned, why, _|
      duty = enlist_once(recruiter) { returned }
      assert_equal [why == :worked, "job", why], [duty.recruited, duty.job, duty.why], returned.inspect
      assert_operator duty.took, :>=, 0
      assert_predicate duty, :frozen?
    end
    assert_empty told
    stats = stats_of(recruiter, RETURNS.size)
    assert_equal [4, 2, 0, 0, 10], [stats.worked, stats.nothing, stats.aborted, stats.failed, stats.items]
    assert_equal [0, 0], [stats.granted, stats.last_granted_us]
  end

  on_every_backend :anything_else_that_a_handler_returns_is_a_failure do |url|
    recruiter = recruiter_on(url)
    wrong = [-1, 1 << 64, 1.0, "1", :one, [], [1], {}, Object.new, Thread.current]
    wrong.each do |returned|
      duty = enlist_once(recruiter) { returned }
      assert_equal [false, "job", :failed], [duty.recruited, duty.job, duty.why], returned.inspect
      (job, error), *others = told
      assert_equal ["job", []], [job, others]
      assert_kind_of returned.is_a?(Integer) ? INVALID : TypeError, error
      assert_match(/what the handler returned (must be a number of items|is)/, error.message)
    end
    assert_equal wrong.size, stats_of(recruiter, wrong.size).failed
  end

  ERRORS = [RuntimeError, ArgumentError, Millpond::TimeoutError, Millpond::Reject, NotImplementedError, LoadError,
            SystemStackError, Timeout::Error, IOError].freeze

  on_every_backend :what_a_handler_raises_goes_to_the_hook do |url|
    recruiter = recruiter_on(url)
    ERRORS.each do |kind|
      assert_equal :failed, enlist_once(recruiter) { raise kind, "on purpose" }.why
      assert_equal [["job", kind, "on purpose"]], told.map { |job, error| [job, error.class, error.message] }
    end
    recruiter.install("left", share: 1) { break 1 }
    assert_equal [:failed, LocalJumpError], [recruiter.enlist.why, told.first.last.class]
    recruiter.uninstall("left")
    assert_equal ERRORS.size, stats_of(recruiter, ERRORS.size).failed
  end

  # What ends a program, a thread or a block passes, and its slice fails first.
  ENDS = {
    interrupt: [Interrupt, ->(*) { raise Interrupt }],
    exit: [SystemExit, ->(*) { exit 3 }],
    signal: [SignalException, ->(*) { raise SignalException, "TERM" }],
    memory: [NoMemoryError, ->(*) { raise NoMemoryError }],
    exception: [Class.new(Exception), ->(*) { raise ENDS[:exception].first }], # rubocop:disable Lint/InheritException
    throw: [UncaughtThrowError, ->(*) { throw :out }],
    timeout: [Timeout::Error, ->(*) { sleep }]
  }.freeze

  on_every_backend :what_ends_a_program_passes do |url|
    recruiter = recruiter_on(url)
    ENDS.each do |name, (kind, ending)|
      call = -> { enlist_once(recruiter, &ending) }
      case name
      when :throw then assert_equal(:caught, catch(:out) { call.call && :not_caught } || :caught)
      when :timeout then assert_raises(kind) { Timeout.timeout(0.05) { call.call } }
      else assert_raises(kind, &call)
      end
      assert_equal name == :memory ? %w[job] : [], told.map(&:first)
    end
    thread = in_thread { enlist_once(recruiter) { sleep } }
    thread.kill.join
    assert_equal :worked, enlist_once(recruiter) { nil }.why
    stats = stats_of(recruiter, ENDS.size + 2)
    assert_equal [ENDS.size + 1, 1, 0], [stats.failed, stats.worked, stats.aborted]
  end

  on_every_backend :a_slice_says_that_there_is_more_or_nothing_to_say do |url|
    recruiter = recruiter_on(url)
    duty = enlist_once(recruiter) do |slice|
      assert_nil slice.more
      assert_nil slice.abort
      3
    end
    assert_equal [false, :aborted], [duty.recruited, duty.why]
    stats = stats_of(recruiter, 1)
    assert_equal [1, 0, 0], [stats.aborted, stats.worked, stats.items]
  end

  # The least of what the job and the process allow.
  def test_a_slice_has_a_budget
    recruiter = recruiter_on_clock
    kept = nil
    { nil => 20.0, 5 => 5.0, 50 => 20.0, 0 => 0.0, 1r / 4 => 0.25 }.each do |offered, budget|
      recruiter.install("job", share: 1, budget: 20) do |slice|
        kept = slice
        assert_equal ["job", budget, budget, budget.zero?], [slice.job, slice.budget, slice.remaining, slice.over?]
        assert_equal [0, false], [slice.fence, slice.lost?]
        @clock.advance(budget / 2)
        assert_equal [budget / 2, budget.zero?], [slice.remaining, slice.over?]
        @clock.advance(budget / 2)
        assert_equal [0.0, true], [slice.remaining, slice.over?]
      end
      duty = recruiter.enlist(budget: offered)
      assert_equal [:worked, budget], [duty.why, duty.took]
      recruiter.uninstall("job")
    end
    assert_empty told
    # It can be read when it has ended.
    assert_equal ["job", 0.25, true], [kept.job, kept.budget, kept.over?]
    assert_nil kept.more
  end

  def test_a_process_rests_after_a_slice
    recruiter = recruiter_on_clock
    recruiter.set_duty_max(0.1)
    recruiter.install("job", share: 1) { @clock.advance(0.01) }
    assert_equal 0.01, recruiter.enlist.took
    @clock.advance(0.089)
    assert_equal :over_duty, recruiter.enlist.why
    @clock.advance(0.001)
    assert_equal :worked, recruiter.enlist.why
  end

  def test_the_process_does_one_slice_at_a_time
    url = Servers.shared.url
    recruiter = recruiter_on(url)
    other = connect(url).recruiter(name_of_queue)
    other.install("job", share: 1) { nil }
    whys = nil
    recruiter.install("job", share: 1) do
      whys = [recruiter.enlist, Thread.new { recruiter.enlist }.value, other.enlist].map(&:why)
      true
    end
    assert_equal :worked, recruiter.enlist.why
    assert_equal [:in_slice], whys.uniq
    assert_equal :worked, other.enlist.why
  end

  def test_jobs_per_second
    recruiter = recruiter_on_clock
    slices = []
    recruiter.install("tick", per_second: 10, burst: 1, max_running: 1, lease: 60) do |slice|
      refute_predicate recruiter, :due?
      slices << [slice.fence, slice.lost?]
      @clock.advance(60)
      slices << [slice.fence, slice.lost?]
      5
    end
    assert_predicate recruiter, :due?
    2.times do
      wait_until do
        duty = recruiter.enlist
        assert_includes %i[worked not_due denied], duty.why
        @clock.advance(0.1)
        duty.recruited
      end
    end
    assert_equal [false, true] * 2, slices.map(&:last)
    fences = slices.map(&:first)
    assert_equal [fences[0], fences[2]], fences.values_at(1, 3)
    assert_operator fences[0], :<, fences[2]
    stats = stats_of(recruiter, 2)
    assert_equal ["tick", 2, 2, 10, 120_000_000], [stats.job, stats.granted, stats.worked, stats.items, stats.busy_us]
    assert_operator stats.last_granted_us, :>, 1_700_000_000_000_000
  end

  # Twenty slices of a job with nothing to do.
  def idle(recruiter)
    20.times do
      @clock.advance(20)
      recruiter.enlist
    end
  end

  def test_a_job_with_little_to_do_runs_less_often_until_it_is_woken
    recruiter = recruiter_on_clock
    recruiter.install("tick", per_second: 1, idle_max: 8) { 0 }
    backoff = -> { recruiter.stats.jobs.first.backoff }
    idle(recruiter)
    assert_equal 3, backoff.call
    assert_nil recruiter.wake("tick")
    assert_equal 0, backoff.call
    assert_nil recruiter.wake("unknown")
    idle(recruiter)
    recruiter.uninstall("tick")
    recruiter.install("tick", per_second: 1, idle_max: 8) { |slice| slice.more || 1 }
    assert_equal 3, backoff.call
    @clock.advance(20)
    assert_equal :worked, recruiter.enlist.why
    wait_until { backoff.call.zero? }
  end

  def test_why_nothing_runs
    recruiter = recruiter_on_clock
    whys = [recruiter.enlist.why]
    recruiter.install("never", share: 0) { flunk }
    whys << recruiter.enlist.why
    recruiter.install("tick", per_second: 1.0 / 86_400, max_running: 1) { recruiter.enlist.why == :in_slice }
    2.times do
      whys << recruiter.enlist.why
      @clock.advance(60)
    end
    whys << recruiter.enlist.why << recruiter.enlist.why
    recruiter.stop
    whys << recruiter.enlist.why
    assert_equal %i[no_jobs not_drawn worked denied denied not_due stopped], whys
    stats = nil
    wait_until { (stats = recruiter.stats).not_due == 1 }
    assert_equal({ enlisted: 7, no_jobs: 1, not_drawn: 1, denied: 2, not_due: 1, in_slice: 1, busy: 0, over_duty: 0,
                   unavailable: 0 }, stats.to_h.except(:jobs))
    assert_equal [["tick", 1]], stats.jobs.map { |job| [job.job, job.worked] }
  end

  # Under another address the server is another one's, as for another process.
  def test_as_many_slices_run_at_a_time_as_may
    url = Servers.shared.url
    recruiter = recruiter_on(url)
    other = recruiter_on(url.sub("127.0.0.1", "localhost"))
    other.install("tick", per_second: 1_000, max_running: 1) { flunk }
    recruiter.install("tick", per_second: 1_000, max_running: 1, lease: 3_600) do
      wait_until { other.enlist.why == :busy }
    end
    wait_until { recruiter.due? && other.due? }
    assert_equal :worked, recruiter.enlist.why
    other.stop
    wait_until { recruiter.stats.busy == 1 }
  end

  WRONG = {
    { share: 0.5, id: "" } => /1 to 64 bytes/,
    { share: 0.5, id: "a" * 65 } => /1 to 64 bytes/,
    { share: 0.5, id: "a\n" } => /no control characters/,
    { share: 0.5, id: "\xFF" } => /not UTF-8/,
    {} => /either a share or a rate per second/,
    { share: 0.5, per_second: 1 } => /either a share or a rate per second/,
    { share: -0.1 } => /the share of mail is -0.1/,
    { share: 1.5 } => /the share of mail is 1.5/,
    { share: Float::NAN } => /share is NaN/,
    { per_second: Float::NAN } => /per_second is NaN/,
    { per_second: 0 } => /the rate of mail is 0/,
    { per_second: Float::INFINITY } => /the rate of mail is inf/,
    { per_second: 1_001 } => /the rate of mail is 1001/,
    { share: 0.5, burst: 2 } => /it has no burst/,
    { share: 0.5, max_running: 1 } => /no max_running/,
    { per_second: 1, burst: 0 } => /the burst of mail is 0/,
    { per_second: 1, max_running: 1_001 } => /1000 are allowed/,
    { per_second: 1, budget: 0 } => /the budget of mail is 0/,
    { per_second: 1, budget: 61 } => /the budget of mail is 61s/,
    { per_second: 1, budget: Float::INFINITY } => /the budget of mail is/,
    { per_second: 1, lease: 0.049 } => /the lease of mail is 49ms/,
    { per_second: 1, idle_max: 3_601 } => /the idle_max of mail is 3601s/,
    { share: 0.6 } => /come to 104/
  }.freeze

  def test_a_job_beyond_its_limits_is_not_installed
    recruiter = recruiter_on("memory:")
    recruiter.install("other", share: 0.44) { nil }
    WRONG.each do |job, message|
      refused(message) { recruiter.install(job.fetch(:id, "mail"), **job.except(:id)) { flunk } }
      refute recruiter.uninstall("mail")
    end
    assert recruiter.uninstall("other")
    refute recruiter.uninstall("other")
    assert_equal :no_jobs, recruiter.enlist.why
    64.times { |number| recruiter.install(number.to_s, per_second: 1) { nil } }
    refused(/64/) { recruiter.install("one more", per_second: 1) { nil } }
  end

  def test_arguments
    recruiter = recruiter_on("memory:")
    [-> { recruiter.install("a", share: 1) }, -> { recruiter.install("a", 7, share: 1) }, -> { recruiter.on_error },
     -> { recruiter.on_error(7) }].each { |call| refused(/a block or a h/, ArgumentError, &call) }
    refused(/id must be a String, not nil/, TypeError) { recruiter.install(nil, share: 1) { nil } }
    refused(/share must be a number, not String/, TypeError) { recruiter.install("a", share: "1") { nil } }
    refused(/per_second must be a number, not Complex/, TypeError) { recruiter.install("a", per_second: 1i) { nil } }
    [0, -0.1, 1.1].each { |part| refused(/duty_max is #{part}/) { recruiter.set_duty_max(part) } }
    refused(/part must be a number, not nil/, TypeError) { recruiter.set_duty_max(nil) }
    refused(/part is NaN/) { recruiter.set_duty_max(Float::NAN) }
    [0, 1.001].each { |time| refused(/decision_timeout is/) { recruiter.set_decision_timeout(time) } }
    assert_equal :no_jobs, recruiter.enlist.why
    refused(/name is empty/) { connect("memory:").recruiter("").install("a", share: 1) { nil } }
    assert_equal :no_jobs, connect("memory:").recruiter("").enlist.why
  end

  def test_an_id_is_installed_once
    recruiter = recruiter_on("memory:")
    calls = []
    recruiter.install("ä", share: 1) { |slice| calls << [slice.job, slice.job.encoding] && nil }
    refused(/ä/) { recruiter.install("ä".b, share: 1) { flunk } }
    recruiter.enlist
    assert_equal [["ä", Encoding::UTF_8]], calls
    assert recruiter.uninstall("ä".b)
    recruiter.install("ä", ->(slice) { slice.job.size + 1 }, share: 1)
    assert_equal %i[worked worked], [recruiter.enlist.why, recruiter.enlist.why]
    assert_equal 5, stats_of(recruiter, 3).items
    assert_equal 1, calls.size
  end

  # The slice that is running goes on.
  on_every_backend :a_handler_uninstalls_itself do |url|
    recruiter = recruiter_on(url)
    assert_equal :worked, enlist_once(recruiter) { recruiter.uninstall("job") }.why
    assert_equal :no_jobs, recruiter.enlist.why
  end

  # The first of two ends counts, and another thread gets each slice.
  on_every_backend :many_threads_enlist do |url|
    recruiter = recruiter_on(url)
    inside = most = 0
    recruiter.install("job", share: 1) do
      most = [most, inside += 1].max
      Thread.pass
      inside -= 1
      nil
    end
    whys = Array.new(8) { Thread.new { Array.new(100) { recruiter.enlist.why } } }.flat_map(&:value)
    assert_equal 1, most
    assert_empty whys.uniq - %i[worked in_slice]
    assert_equal whys.count(:worked), stats_of(recruiter, whys.count(:worked)).worked
  end

  # Whatever an interrupt hits, no slice is left behind and no decision to ask.
  def test_an_interrupt_leaves_nothing_behind
    recruiter = recruiter_on_clock
    recruiter.install("share", share: 0.3) { Thread.pass }
    recruiter.install("tick", per_second: 1_000, burst: 10_000) { Thread.pass }
    hits = 0
    done = false
    thread = Thread.handle_interrupt(IndexError => :never) do
      Thread.new do
        until done
          begin
            Thread.handle_interrupt(IndexError => :immediate) do
              until done
                @clock.advance(0.01)
                recruiter.enlist
              end
            end
          rescue IndexError
            hits += 1
          end
        end
      end
    end
    until hits >= 300
      thread.raise(IndexError)
      sleep 0.0005
    end
    done = true
    assert_same thread, thread.join(PATIENCE)
    recruiter.uninstall("share")
    wait_until do
      @clock.advance(10)
      duty = recruiter.enlist
      refute_equal :in_slice, duty.why
      duty.recruited
    end
  end

  def test_the_log
    recruiter = connect("memory:").recruiter("site")
    recruiter.set_duty_max(1)
    assert_logs(/ERROR -- millpond: the job job failed: .*recruiter_test.*no network \(RuntimeError\)/) do
      enlist_once(recruiter) { raise "no network" }
    end
    assert_logs(/who is told of jobs failed: .*no hook/) do
      recruiter.on_error { raise "no hook" }
      enlist_once(recruiter) { raise "no network" }
    end
  end

  on_every_backend :a_closed_client do |url|
    recruiter = recruiter_on(url)
    recruiter.install("job", share: 1) { nil }
    @clients.each(&:close)
    assert_equal :worked, recruiter.enlist.why
    [-> { recruiter.stats }, -> { recruiter.wake("job") }].each { |call| assert_raises(Millpond::ClosedError, &call) }
    assert_nil recruiter.stop
  end

  def test_an_ask_on_a_closed_client
    recruiter = recruiter_on_clock
    recruiter.install("tick", per_second: 1) { nil }
    @clients.each(&:close)
    assert_equal :unavailable, recruiter.enlist.why
    assert_equal [[nil, Millpond::ClosedError]], told.map { |job, error| [job, error.class] }
    @clock.advance(0.1)
    assert_equal :not_due, recruiter.enlist.why
    @clock.advance(FIRST)
    assert_raises(Millpond::ClosedError) { recruiter.run }
  end

  def test_keys_that_hold_something_else
    url = Servers.shared.url
    store = connect(url).ick("{#{name_of_queue}}:steal")
    store.add(["a"])
    recruiter = recruiter_on(url)
    recruiter.install("tick", per_second: 1) { nil }
    [-> { recruiter.stats }, -> { recruiter.wake("tick") }].each { |call| assert_raises(Millpond::WrongTypeError, &call) }
    assert_raises(Millpond::WrongTypeError) { recruiter.run }
  ensure
    store&.delete
  end

  # The process asks for the first time in up to 5 seconds.
  def first_ask(recruiter)
    wait_until { recruiter.due? }
    recruiter.enlist
  end

  def test_a_server_that_is_away
    recruiter = connect("redis://127.0.0.1:1").recruiter("site")
    @told = Queue.new
    recruiter.on_error { |job, error| @told << [job, error] }
    recruiter.install("tick", per_second: 1) { flunk }
    duty = nil
    assert_operator(seconds { duty = first_ask(recruiter) }, :<, FIRST + SOON)
    assert_equal [false, nil, 0.0, :unavailable], duty.to_a
    (job, error), = told
    assert_nil job
    assert_kind_of Millpond::Error, error
  end

  # It is asked, and a slice ends on it.
  def test_jobs_per_second_on_a_server
    recruiter = recruiter_on(Servers.shared.url)
    slices = Queue.new
    recruiter.install("tick", per_second: 100, max_running: 1) { |slice| slices << slice.fence && 2 }
    assert_equal :worked, first_ask(recruiter).why
    Scheduler.run do
      others = 0
      Fiber.schedule { 3.times { (others += 1) && sleep(0.001) } }
      wait_until { recruiter.enlist.recruited }
      wait_until { others == 3 }
    end
    runs = in_thread { recruiter.run }
    wait_until { slices.size >= 4 }
    recruiter.stop
    assert_same runs, runs.join(SOON)
    fences = Array.new(slices.size) { slices.pop }
    assert_equal fences.sort.uniq, fences
    stats = stats_of(recruiter, fences.size)
    assert_equal [fences.size, 2 * fences.size], [stats.worked, stats.items]
    assert_empty told
  end

  # An ask ends by itself, and another one may follow.
  def test_a_timeout_of_an_ask
    server = own_server
    recruiter = recruiter_on(server.url)
    recruiter.install("tick", per_second: 1_000) { nil }
    wait_until { recruiter.due? }
    server.run("stop")
    Scheduler.run { assert_raises(Timeout::Error) { Timeout.timeout(0.05) { recruiter.enlist } } }
    server.run("cont")
    wait_until { recruiter.enlist.recruited }
  end

  # Each ends a run: what happens to it, and what it raises.
  STOPS = {
    stop: [->(recruiter, _) { recruiter.stop }, nil],
    kill: [->(_, thread) { thread.kill }, nil],
    raise: [->(_, thread) { thread.raise(IndexError) }, IndexError]
  }.freeze

  STOPS.each do |name, (ending, kind)|
    on_every_backend :"a_run_that_waits_ends_by_a_#{name}" do |url|
      recruiter = recruiter_on(url)
      recruiter.install("tick", per_second: 1.0 / 86_400) { nil }
      thread = in_thread { recruiter.run }
      ending.call(recruiter, thread)
      join = -> { Timeout.timeout(SOON) { thread.join } }
      kind ? assert_raises(kind, &join) : join.call
    end
  end

  def test_a_run_needs_a_job_per_second
    recruiter = recruiter_on("memory:")
    refused(/a job per second/) { recruiter.run }
    recruiter.install("job", share: 1) { nil }
    refused(/a job per second/) { recruiter.run }
    recruiter.stop
    assert_nil recruiter.run
  end

  def test_a_run_works_as_an_enlistment_does
    recruiter = recruiter_on_clock
    returns = [3, -> { raise "on purpose" }, "wrong", 0, 2, nil]
    recruiter.install("tick", per_second: 1_000, burst: 1) do |slice|
      assert_equal 0.05, slice.budget
      @clock.advance(60)
      recruiter.stop if returns.size == 1
      returned = returns.shift
      returned.respond_to?(:call) ? returned.call : returned
    end
    assert_nil recruiter.run
    assert_equal [RuntimeError, TypeError], told.map { |_, error| error.class }
    stats = stats_of(recruiter, 6)
    assert_equal [3, 1, 2, 6], [stats.worked, stats.nothing, stats.failed, stats.items]
  end

  # The slice that is running ends.
  %w[TERM INT].each do |signal|
    define_method(:"test_a_run_ends_at_sig#{signal.downcase}") do
      recruiter = recruiter_on_clock
      recruiter.install("tick", per_second: 1_000) do
        Process.kill(signal, Process.pid)
        wait_until { recruiter.enlist.why == :stopped }
      end
      told = 0
      before = trap(signal) { told += 1 }
      assert_nil recruiter.run
      assert_equal 1, told
      assert_equal 1, stats_of(recruiter, 1).worked

      waiting = connect("memory:").recruiter("waiting")
      waiting.install("tick", per_second: 1) { nil }
      once_it_waits { Process.kill(signal, Process.pid) }
      assert_nil waiting.run
      assert_match(/recruiter_test/, trap(signal, before).source_location.first)
    end
  end

  def test_ctrl_c_where_signals_do_not_stop_a_run
    recruiter = recruiter_on("memory:")
    recruiter.install("tick", per_second: 1.0 / 86_400) { nil }
    assert_interrupted { recruiter.run(stop_on_signals: false) }
    refute_includes %i[in_slice stopped], recruiter.enlist.why
  end

  # It is no failure of a handler.
  def test_what_a_trap_raises_ends_a_run
    recruiter = recruiter_on_clock
    recruiter.install("tick", per_second: 1_000) { Process.kill(:USR1, Process.pid) && sleep }
    before = trap(:USR1) { raise IndexError, "from the trap" }
    assert_equal "from the trap", assert_raises(IndexError) { recruiter.run }.message
    assert_empty told
    assert_equal 1, stats_of(recruiter, 1).failed
  ensure
    trap(:USR1, before)
  end

  def test_a_run_goes_on_when_the_server_was_away
    server = own_server
    recruiter = recruiter_on(server.url)
    recruiter.install("tick", per_second: 1_000, burst: 1) { nil }
    thread = in_thread { recruiter.run }
    server.run("kill")
    job, error = Timeout.timeout(PATIENCE) { @told.pop }
    assert_nil job
    assert_kind_of Millpond::Error, error
    server.run("restart")
    recruiter.uninstall("tick")
    recruiter.install("tock", per_second: 1_000) { recruiter.stop }
    assert_same thread, thread.join(PATIENCE)
  end

  on_every_backend :a_child_has_its_own_pace do |url|
    recruiter = recruiter_on(url)
    recruiter.install("job", share: 1) { 2 }
    parent = recruiter.enlist
    in_child do
      assert_equal parent.why, recruiter.enlist.why
      recruiter.stop
      assert_equal :stopped, recruiter.enlist.why
    end
    assert_equal :worked, recruiter.enlist.why
    assert_operator stats_of(recruiter, 2).worked, :>=, 2
  end

  # Its slice is the parent's, and it may enlist itself.
  [nil, "memory:"].each do |url|
    define_method(:"test_a_child_from_inside_of_a_slice#{'_in_memory' if url}") do
      program = <<~'PROGRAM'
        recruiter = Millpond.connect(ARGV[0]).recruiter(ARGV[1])
        parent = Process.pid
        recruiter.install("job", share: 1, budget: 60) do |slice|
          child = fork
          if child
            Process.wait(child)
            next $?.exitstatus == 7
          end
          p [slice.job, slice.over?, slice.budget]
          recruiter.uninstall("job")
          recruiter.install("own", share: 1) { nil }
          p recruiter.enlist.why
          9
        end
        duty = recruiter.enlist
        p duty.to_a.values_at(0, 1, 3)
        exit 7 unless Process.pid == parent
      PROGRAM
      output, status = run_ruby("-rmillpond", "-e", program, url || Servers.shared.url, name_of_queue, seconds: 30)
      lines = ['["job", false, 60.0]', ":worked", '[false, "job", :aborted]', '[true, "job", :worked]']
      assert_equal [lines, true], [output.lines(chomp: true), status.success?]
    end
  end

  # Any exit of the child leaves the parent's slice alone.
  def test_an_exit_of_a_child_from_inside_of_a_slice
    program = <<~'PROGRAM'
      recruiter = Millpond.connect(ARGV[0]).recruiter(ARGV[1])
      recruiter.install("job", share: 1) do
        child = fork
        exit 7 unless child
        Process.wait(child)
        raise $?.inspect unless $?.exitstatus == 7
      end
      print recruiter.enlist.why
    PROGRAM
    output, status = run_ruby("-rmillpond", "-e", program, Servers.shared.url, name_of_queue, seconds: 30)
    assert_equal ["worked", true], [output, status.success?]
  end
end
