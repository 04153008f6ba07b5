# frozen_string_literal: true

require_relative "helper"

# A store of tasks on Redis works in every child of a fork, whatever its parent waits for.
class TasksForkTest < MillpondTest
  def works_in_a_child(used)
    store = store_on(renewing(Servers.shared.url))
    kept = store.claims("q", wait: 60)
    if used
      store.insert("q", value: 0)
      assert_equal 0, kept.next[0].value
    end
    in_child do
      own = store.modify((0...50).reduce(modification) { |all, number| all.insert("own", value: number) })
      assert_equal 50, own.inserted.size
      seen = store.claims("own", max: 7, wait: 0.1).to_a.flatten
      assert_equal [*0...50], seen.map(&:value).sort
      store.modify(seen.reduce(modification) { |done, task| done.delete(task) })
      store.insert("own", value: 7)
      # Renewed by a thread of the child's own.
      store.worker("own", lease: 60).drain do |job|
        wait_until { job.handle.version > 1 }
        job.delete.insert("done", value: job.task.value)
      end
    end
    assert_equal [7], store.list("done").tasks.map(&:value)
    store.insert("q", value: 8)
    assert_equal 8, kept.next[0].value
  end

  def test_a_child_from_before_the_first_use
    works_in_a_child(false)
  end

  def test_a_child_from_after_the_first_use
    works_in_a_child(true)
  end

  def test_forks_while_threads_wait
    store = store_on(Servers.shared.url)
    threads = Array.new(4) { Thread.new { store.claims("q", wait: 60).first[0].value } }
    sleep 0.2
    5.times do
      in_child do
        assert_empty store.claims("own", wait: 0.02).to_a
        inserting = Thread.new do
          sleep 0.05
          store.insert("own")
        end
        store.worker("own").run do |job|
          job.done
          break
        end
        assert_empty store.list("own").tasks
        inserting.join
      end
    end
    assert threads.all?(&:alive?)
    store.modify((0...4).reduce(modification) { |all, number| all.insert("q", value: number) })
    assert_equal [0, 1, 2, 3], threads.map(&:value).sort
  end

  # It is the parent's: it goes on there while a child comes and goes, and the child renews nothing.
  def test_a_job_of_the_parents
    store = store_on(renewing(Servers.shared.url))
    store.insert("q", value: 1)
    store.worker("q", lease: 60).jobs do |job|
      version = -> { store.fetch(job.task.id)[0].version }
      3.times do
        in_child do
          assert_equal [1, 1], [job.task.value, job.task.claims]
          GC.start
          before = version.call
          wait_until { version.call > before + 2 }
        end
      end
      refute_predicate job, :lost?
      # What the parent knows is what the store has: nobody else renewed it.
      wait_until { job.handle.version == version.call }
      job.done
    end
    assert_empty store.queues
  end

  # It stays the parent's, which renews it.
  def test_a_child_cannot_end_a_job_of_its_parents
    store = store_on(Servers.shared.url)
    store.insert("q", value: 1)
    job = store.worker("q", lease: 60).jobs.first
    in_child do
      [-> { job.done }, -> { job.finish(job.delete.insert("done")) }, -> { job.retry("why") },
       -> { job.move_to("p") }, -> { job.release }, -> { job.claim_docs("n", "k") }].each do |call|
        assert_raises(Millpond::ForkedError, &call)
      end
      assert_equal [1, nil], [job.handle.version, job.leave]
    end
    job.done
    assert_empty store.queues
  end

  def embedded_store_belongs_to_its_process(url)
    store = connect(url).tasks("x")
    3.times { store.insert("q") }
    batches = store.claims("q")
    jobs = store.worker("q").jobs
    assert_equal 1, batches.next.size
    job = jobs.next
    in_child do
      [-> { store.queues }, -> { store.insert("q") }, -> { store.claim("q") }, -> { batches.next },
       -> { store.claims("q", wait: 60).first }, -> { job.done }, -> { jobs.next },
       -> { store.worker("q").run { flunk } }].each do |call|
        assert_raises(Millpond::ForkedError, &call)
      end
    end
    job.done
    assert_equal [2, 1], [store.queues["q"], batches.next.size]
  end

  def test_a_store_in_memory_belongs_to_its_process
    embedded_store_belongs_to_its_process("memory:")
  end

  def test_a_store_on_a_file_belongs_to_its_process
    Dir.mktmpdir do |folder|
      embedded_store_belongs_to_its_process("file:#{folder}/data")
      close_clients
    end
  end

  # Finalizers run when a child ends by itself; they leave alone what is the parent's.
  def test_a_child_that_ends_by_itself
    program = <<~'PROGRAM'
      stores = [ARGV[0], "memory:"].map { |url| Millpond.connect(url).tasks(ARGV[1]) }
      stores.each { |store| 3.times { |number| store.insert("q", value: number, at_ms: number) } }
      jobs = stores.map { |store| store.worker("q", lease: 60).jobs }
      held = jobs.map(&:next)
      loops = stores.map { |store| store.claims("q", wait: 60).tap(&:next) }
      child = fork do
        stores[0].queues
        GC.start
        exit 7
      end
      Process.wait(child)
      raise $?.inspect unless $?.exitstatus == 7
      held.each(&:done)
      print loops.map { |batches| batches.next.size }, stores.map { |store| store.queues["q"] }
    PROGRAM
    output, status = run_ruby("-rmillpond", "-e", program, Servers.shared.url, name_of_queue, seconds: 30)
    assert_equal ["[1, 1][2, 2]", true], [output, status.success?]
  end
end
