# frozen_string_literal: true

require_relative "helper"

# Workers: jobs that renew themselves, and what happens to those that fail.
class TasksWorkerTest < MillpondTest
  # An error whose text the program makes.
  class Unreadable < StandardError
    def initialize(&text)
      super()
      @text = text
    end

    def message = @text.call
  end

  on_every_backend :jobs do |url|
    store = store_on(url)
    store.insert("q", value: { "n" => 1 })
    worker = store.worker(%w[q p])
    result = worker.jobs do |job|
      assert_equal [{ "n" => 1 }, 1, false], [job.task.value, job.task.claims, job.lost?]
      assert_equal Millpond::TaskId.new(job.task.id, 1), job.handle
      done = job.finish(job.delete.insert("done", value: 2))
      assert_equal [2], done.inserted.map(&:value)
    end
    assert_same worker, result
    assert_equal({ "done" => 1 }, store.queues)
    worker.jobs { flunk "there is nothing left" }
  end

  on_every_backend :every_end do |url|
    store = store_on(url)
    ends = %w[done retry later move release]
    ends.each_with_index { |how, index| store.insert("q", id: how, priority: 9 - index) }
    jobs = Array.new(5) { store.worker("q", backoff: 100, backoff_max: 100).jobs.first }
    assert_equal ends, jobs.map { |job| job.task.id }
    done, tried, later, moved, released = jobs
    assert_equal [nil] * 5, [done.done, tried.retry("why"), later.retry("why", delay: 7), moved.move_to("p", "why"),
                             released.release]
    tried, later, moved, released = store.fetch(ends)
    assert_equal [1, "why", 1], [tried.attempt, tried.err, tried.claims]
    assert_includes 50_000..100_000, tried.at_ms - tried.modified_ms
    assert_equal 7_000, later.at_ms - later.modified_ms
    assert_equal ["p", 1, "why", ""], [moved.queue, moved.attempt, moved.err, moved.claimant]
    assert_equal [0, "", store.claimant, 2], [released.attempt, released.err, released.claimant, released.version]
    assert_includes 50..100, released.at_ms - released.modified_ms
    assert jobs.all?(&:ended?)
    jobs.each { |job| assert_raises(Millpond::LeaseLostError) { job.done } }
  end

  on_every_backend :a_job_that_is_not_ended_is_left do |url|
    store = store_on(renewing(url))
    3.times { |number| store.insert("q", id: number.to_s, priority: 9 - number) }
    worker = store.worker("q", lease: 60)
    kept = []
    worker.jobs do |job|
      kept << job
      break if kept.size == 2
    end
    assert_raises(IndexError) { worker.jobs { |job| kept << job && raise(IndexError) } }
    # The one that went along by break is renewed, the others are not.
    wait_for_renewals(kept[1], 3) # a renewal of the others that was under way is over
    left = store.fetch(%w[0 2])
    wait_for_renewals(kept[1], 3)
    assert_equal left.map(&:handle), store.fetch(%w[0 2]).map(&:handle)
    assert_raises(Millpond::InvalidArgumentError) { kept[0].done }
    assert_raises(Millpond::InvalidArgumentError) { kept[2].done }
    # Their leases end here, since a minute is long.
    left.zip([kept[0], kept[2]]) do |task, job|
      @clients.first.tasks(name_of_queue, claimant: job.task.claimant).renew(task, lease: 0)
    end
    assert_equal %w[0 2], store.claim_many("q", 5).map(&:id).sort
    refute_predicate kept[1], :lost?
    kept[1].done
  end

  # Returns after this many more renewals of the job.
  def wait_for_renewals(job, count)
    version = job.handle.version + count
    wait_until { job.handle.version >= version }
  end

  on_every_backend :the_jobs_as_an_enumerator do |url|
    store = store_on(url)
    3.times { |number| store.insert("q", value: number, priority: 9 - number) }
    jobs = store.worker("q").jobs
    first = jobs.next
    assert_equal 0, first.task.value
    assert_equal 1, jobs.next.tap(&:done).task.value
    assert_raises(Millpond::InvalidArgumentError) { first.done }
    assert_equal([2], jobs.take(1).each(&:done).map { |job| job.task.value })
  end

  # With documents, while the program is busy.
  on_every_backend :a_job_is_renewed do |url|
    store = store_on(renewing(url))
    other = @clients.first.tasks(name_of_queue)
    made = modification.insert_doc("n", "k", id: "d", content: 1)
    store.modify(made.insert_doc("n", "k", id: "e", secondary_key: "2"))
    store.insert("q", value: 1)
    job = store.worker("q", lease: 60).jobs.first
    docs = job.claim_docs("n", "k")
    # The second renewal from here is the first that surely has the documents.
    version = job.handle.version + 2
    until_then = now + PATIENCE
    nil until job.handle.version >= version || now > until_then
    # As others see it too: the leases end later than they did.
    task, = other.fetch(job.task.id)
    assert_operator task.version, :>=, version
    assert_operator task.at_ms, :>, job.task.at_ms
    other.fetch_docs("n", docs.map(&:id)).zip(docs) { |renewed, doc| assert_operator renewed.at_ms, :>, doc.at_ms }
    assert_nil other.claim("q")
    assert_raises(Millpond::DependencyError) { other.claim_docs("n", "k") }
    refute_predicate job, :lost?
    assert_operator job.handle.version, :>=, 3
    done = job.finish(job.delete.change_doc(docs[0].change(content: 2, release: true)))
    assert_equal [["d", 2, ""], ["e", nil, ""]], done.changed_docs.map { |doc| [doc.id, doc.content, doc.claimant] }
    assert_empty store.queues
  end

  on_every_backend :a_lost_lease_is_seen do |url|
    store = store_on(renewing(url), claimant: "ann")
    store.insert("q", id: "t")
    job = store.worker("q", lease: 60).jobs.first
    # Whoever takes a claimant's name can do what it could.
    assert_match %r{\Aann/\h{16}\z}, job.task.claimant
    assert_raises(Millpond::DependencyError) { store.modify(modification.delete(job.handle)) }
    same = @clients.first.tasks(name_of_queue, claimant: job.task.claimant)
    delete_held(same, job)
    wait_until { job.lost? }
    [-> { job.done }, -> { job.retry("why") }, -> { job.finish(job.delete.insert("q")) }].each do |call|
      assert_raises(Millpond::LeaseLostError, &call)
    end
    assert_empty store.queues
  end

  on_every_backend :a_cancelled_job_is_told do |url|
    store = store_on(renewing(url))
    store.insert("q", id: "t")
    drained = store.worker("q", lease: 60).drain(on_error: ->(*) {}) do |job|
      refute_predicate job, :cancelled?
      assert_equal [true], store.cancel("t")
      wait_until { job.cancelled? }
      raise "stopped"
    end
    assert_equal({ done: 0, retried: 0, dead: 0, others: 1 }, drained.to_h)
    assert_empty store.queues
  end

  # How a handler ends, and what happens to its task.
  on_every_backend :a_handler_says_how_its_job_ends do |url|
    store = store_on(url)
    ends = {
      "nil" => ->(_) {}, "other" => ->(_) { :whatever }, "modification" => ->(job) { job.delete.insert("next") },
      "retry" => ->(_) { raise Millpond::Retry.new("why", delay: 60) }, "bare" => ->(_) { raise Millpond::Retry },
      "move" => ->(_) { raise Millpond::Move.new("p", "why") }, "error" => ->(_) { raise IndexError, "it broke" },
      "bytes" => ->(_) { raise "\xFF\xFE é".b }, "wide" => ->(_) { raise "é".encode("UTF-16LE") },
      "missing" => ->(_) { raise NotImplementedError, "soon" }, "deep" => ->(_) { raise SystemStackError, "deep" },
      "dependency" => ->(_) { store.modify(modification.delete(Millpond::TaskId.new("none", 3))) },
      "refused" => ->(job) { job.delete.depend(Millpond::TaskId.new("none", 3)) },
      "itself" => ->(job) { job.move_to("p", "itself") }, "returned" => ->(_) { Millpond::Retry.new("returned") },
      "reject" => ->(_) { raise Millpond::Reject, "never" }, "class" => ->(_) { Millpond::Retry },
      "unended" => ->(_) { modification.insert("next") }, "keys" => ->(_) { { "inserts" => [], insert: 1 } },
      "raises" => ->(_) { raise Unreadable.new { raise "no text" } }, "none" => ->(_) { raise Unreadable.new { nil } },
      "dummy" => ->(_) { raise String.new("7", encoding: "UTF-7") },
      "change" => ->(job) { [job.task.change(queue: "p")] }, "thread" => ->(_) { Thread.new { sleep 1 } },
      "wrong" => ->(_) { Millpond::Retry.new(7) }
    }
    ends.each_key { |name| store.insert("q", id: name) }
    seen = []
    told = []
    on_error = ->(job, error) { told << [job.task.id, error.class] && raise("it is told of") }
    assert_logs(/ERROR .*who is told of jobs failed: .*it is told of/) do
      drained = store.worker("q", backoff: 60).drain(on_error: on_error) do |job|
        seen << job.task.id
        ends.fetch(job.task.id).call(job)
      end
      assert_equal({ done: 4, retried: 18, dead: 1, others: 1 }, drained.to_h)
    end
    assert_equal({ "error" => IndexError, "bytes" => RuntimeError, "wide" => RuntimeError, "reject" => Millpond::DeadLetterError,
                   "missing" => NotImplementedError, "deep" => SystemStackError, "keys" => TypeError,
                   "raises" => Unreadable, "none" => Unreadable, "dummy" => RuntimeError,
                   "dependency" => Millpond::DependencyError, "refused" => Millpond::DependencyError,
                   "change" => TypeError, "thread" => TypeError,
                   "wrong" => TypeError }.sort, told.sort)
    assert_equal ends.keys.sort, seen.sort
    assert_equal %w[next next], store.list("next").tasks.map(&:queue)
    assert_equal [["itself", "itself", 1], ["move", "why", 1]],
                 store.list("p").tasks.map { |task| [task.id, task.err, task.attempt] }.sort
    left = store.list("q").tasks.to_h { |task| [task.id, task.err] }
    assert_equal({ "retry" => "why", "bare" => "", "error" => "IndexError: it broke",
                   "refused" => "tasks.modify: task none is not at version 3 any more",
                   "bytes" => "RuntimeError: \uFFFD\uFFFD é", "wide" => "RuntimeError: é",
                   "missing" => "NotImplementedError: soon", "deep" => "SystemStackError: deep",
                   "dependency" => "Millpond::DependencyError: tasks.modify: " \
                                   "task none is not at version 3 any more",
                   "raises" => "TasksWorkerTest::Unreadable: its message cannot be read (RuntimeError)",
                   "none" => "TasksWorkerTest::Unreadable: its message cannot be read (TypeError)",
                   "dummy" => "RuntimeError: 7", "returned" => "returned", "class" => "",
                   "wrong" => "TypeError: err must be a String, not Integer",
                   "keys" => "TypeError: the handler returned a Hash with the key \"inserts\", which is no " \
                             "finished Modification: return a Millpond::Modification, or nil",
                   "change" => "TypeError: the handler returned an Array with a Millpond::TaskChange, which is no finished " \
                               "Modification: return a Millpond::Modification, or nil",
                   "thread" => "TypeError: the handler returned a Thread, which is no finished Modification" },
                 left)
    assert_empty store.list("q").tasks.select { |task| task.attempt.zero? }
  end

  on_every_backend :what_a_trap_raises_is_no_attempt do |url|
    [RuntimeError, SystemExit].each do |ends|
      store = store_on(url)
      store.insert("q", id: ends.name)
      stop = proc { raise ends }
      before = trap("TERM", stop)
      begin
        assert_raises(ends) do
          store.worker("q").run(stop_on_signals: false) do
            Process.kill("TERM", Process.pid)
            sleep PATIENCE
          end
        end
      ensure
        assert_same stop, trap("TERM", before)
      end
      task, = store.fetch([ends.name])
      assert_equal [0, "", false], [task.attempt, task.err, task.at_ms > task.modified_ms]
      store.modify(modification.delete(task))
    end
  end

  on_every_backend :a_handler_releases do |url|
    store = store_on(url)
    store.insert("q")
    claims = []
    store.worker("q", max_crashes: 1).drain do |job|
      claims << job.task.claims
      raise Millpond::Release.new(delay: 0) if claims.size < 3
    end
    assert_equal [1, 2, 3], claims
  end

  def test_a_handler_that_is_no_block
    store = store_on("memory:")
    handler = Class.new do
      attr_reader :seen

      def call(job)
        @seen = job.task.value
        nil
      end
    end.new
    2.times do |number|
      store.insert("q", value: number)
      worker = store.worker("q")
      assert_equal 1, worker.drain(number.zero? ? handler : handler.method(:call)).done
      assert_equal number, handler.seen
    end
  end

  # What ends a program or the loop releases the task.
  on_every_backend :what_ends_the_run do |url|
    store = store_on(url)
    store.insert("q")
    [Interrupt, SignalException.new("TERM")].each do |failure|
      assert_raises(failure.is_a?(Class) ? failure : failure.class) { store.worker("q").run { raise failure } }
    end
    # The attempt of a job counts that ends its program.
    quick = { backoff: 0, backoff_max: 0, on_error: ->(*) {} }
    [-> { exit }, -> { abort }, -> { raise NoMemoryError }].zip([SystemExit, SystemExit, NoMemoryError]) do |call, failure|
      on_error = quick.fetch(:on_error)
      assert_raises(failure) { store.worker("q", **quick.except(:on_error)).run(on_error: on_error) { call.call } }
    end
    store.worker("q").run { break }
    catch(:out) { store.worker("q").run { throw :out } }
    thread = Thread.new { store.worker("q").run { sleep } }
    wait_until { thread.status == "sleep" && store.queue_stats[0].claimed == 1 }
    thread.kill.join
    task = store.claim("q")
    assert_equal [9, 3], [task.claims, task.attempt]
    assert_equal ["SystemExit: exit", "SystemExit: exit", "NoMemoryError: NoMemoryError"], task.err.lines(chomp: true)
  end

  def test_an_error_of_the_store_ends_the_run
    store = store_on(Servers.shared.url)
    store.insert("q")
    assert_logs(/ERROR .* of queue q was lost before it ended: .*the client is closed$/) do
      assert_raises(Millpond::ClosedError) { store.worker("q").run { close_clients } }
    end
    assert_raises(Millpond::ClosedError) { store.worker("q").drain { flunk } }
  end

  on_every_backend :threads_that_need_one_document do |url|
    # How fast the disk is is not what this is about.
    next if url.start_with?("file:")

    store = store_on(url)
    all = modification.insert_doc("n", "k", content: 0)
    40.times { all.insert("q") }
    store.modify(all)
    work = lambda do
      store.worker("q", lease: 30, max_attempts: 1, max_crashes: 1).drain do |job|
        doc, = job.claim_docs("n", "k")
        sleep 0.01
        job.delete.change_doc(doc.change(content: doc.content + 1))
      end
    end
    # Without exclusion it is at least a lease.
    assert_operator seconds { Array.new(2) { Thread.new(&work) }.each(&:join) }, :<, SOON
    assert_empty store.queues
    assert_equal 40, store.list_docs("n").docs.first.content
  end

  on_every_backend :a_job_waits_for_documents do |url|
    client = connect(url)
    store = client.tasks(name_of_queue)
    other = client.tasks(name_of_queue)
    store.insert("q")
    store.modify(modification.insert_doc("n", "k", id: "d"))
    doc, = other.claim_docs("n", "k", lease: 60)
    job = store.worker("q").jobs.first
    taken = assert_raises(Millpond::DependencyError) { job.claim_docs("n", "k", wait: 0.05) }
    other.renew(docs: [doc], lease: 0.05)
    assert_equal 1, job.claim_docs("n", "k", wait: 60).size
    # Its message for a document that was claimed is no failed attempt; any other is.
    job.fail("as it was: #{taken.message}")
    released = store.list("q").tasks.first
    assert_equal [0, ""], [released.attempt, released.err]
    assert_includes 8..16, released.at_ms - released.modified_ms
  end

  on_every_backend :a_modification_that_no_store_could_do_is_a_failure do |url|
    store = store_on(url)
    store.insert("q")
    tries = []
    store.worker("q", backoff: 0, backoff_max: 0).drain(on_error: ->(*) {}) do |job|
      tries << [job.task.attempt, job.task.err]
      job.delete.insert(tries.one? ? "" : "next")
    end
    assert_equal [[0, ""], [1, "the queue's name is empty"]], tries
    assert_equal({ "next" => 1 }, store.queues)
  end

  on_every_backend :what_fails_too_often_goes_to_the_error_queue do |url|
    store = store_on(url)
    store.insert("q", id: "a")
    tries = []
    store.worker("q", backoff: 0, backoff_max: 0, max_attempts: 3).drain(on_error: ->(*) {}) do |job|
      tries << job.task.attempt
      raise KeyError, tries.size.to_s
    end
    assert_equal [0, 1, 2], tries
    assert_equal ["KeyError: 1\nKeyError: 2\nexhausted: KeyError: 3"], store.list("q/err").tasks.map(&:err)
    store.insert("q", id: "b")
    store.worker("q", max_attempts: 1, error_queue: "bäd").drain(on_error: ->(*) {}) { raise "why" }
    assert_equal ["b"], store.list("bäd").tasks.map(&:id)
  end

  on_every_backend :what_kills_its_workers_goes_to_the_error_queue do |url|
    store = store_on(url)
    store.insert("q", id: "t")
    2.times { store.claim("q", lease: 0) }
    told = []
    store.worker("q", max_crashes: 2).drain(on_error: ->(job, _) { told << job.task.id }) { flunk "it is poison" }
    assert_equal ["t"], told
    task, = store.list("q/err").tasks
    assert_equal ["t", 1, "crashed: claimed 2 times without an end"], [task.id, task.attempt, task.err]
    store.insert("q", id: "u")
    seen = []
    store.worker("q", max_crashes: 1).drain { |job| seen << job.task.id }
    assert_equal ["u"], seen
  end

  on_every_backend :several_workers_at_a_time do |url|
    store = store_on(url)
    store.modify((0...60).reduce(modification) { |all, number| all.insert("q", value: number) })
    workers = Array.new(4) do
      Thread.new { store.worker("q").drain { |job| job.delete.insert("done", value: job.task.value) } }
    end
    workers.each(&:join)
    assert_equal [*0...60], store.list("done").tasks.map(&:value).sort
  end

  def test_a_job_is_for_many_threads
    store = store_on(Servers.shared.url)
    store.modify((0...8).reduce(modification) { |all, number| all.insert_doc("n", number.to_s) })
    store.insert("q")
    store.worker("q").jobs do |job|
      docs = Array.new(8) { |number| Thread.new { job.claim_docs("n", number.to_s) } }.flat_map(&:value)
      assert_equal 8, docs.size
      job.finish(docs.reduce(job.delete) { |done, doc| done.delete_doc(doc) })
    end
    assert_empty store.namespace_stats
  end
end
