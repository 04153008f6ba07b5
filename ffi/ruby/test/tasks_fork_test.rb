# frozen_string_literal: true

require_relative "helper"

# Jobs and forks: a job is its process's.
class TasksForkTest < MillpondTest
  # By a thread of the child's own.
  def test_a_job_of_a_child_is_renewed
    store = store_on(renewing(Servers.shared.url))
    store.insert("q", value: 7)
    in_child do
      store.worker("q", lease: 60).drain do |job|
        wait_until { job.handle.version > 1 }
        job.delete.insert("done", value: job.task.value)
      end
    end
    assert_equal [7], store.list("done").tasks.map(&:value)
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
end
