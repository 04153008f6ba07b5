# frozen_string_literal: true

require_relative "helper"

# Nothing grows with the number of calls to a store of tasks.
class TasksMemoryTest < MillpondTest
  VALUE = { "more" => "x" * 2_000 }.freeze

  # About twenty calls a turn.
  def use(store, turns)
    turns.times do
      store.modify((0...5).reduce(modification) { |all, number| all.insert("q", value: VALUE, err: number.to_s) })
      store.modify(modification.insert_doc("n", "k", id: "d", content: VALUE))
      store.claim("q")
      store.claims("q", max: 2) { break }
      store.worker("q").jobs { |job| break job.retry("why", delay: 0) }
      store.worker("q").jobs do |job|
        doc, = job.claim_docs("n", "k")
        break job.finish(job.delete.change_doc(doc.change(content: VALUE)))
      end
      store.worker("q").drain { |job| job.delete.insert("p", value: job.task.value) }
      page = store.list("q", limit: 2)
      store.list("q", after: page.next)
      store.renew(page.tasks)
      store.queue_stats(exact: "q", prefixes: %w[p r])
      docs = store.list_docs("n").docs
      begin
        store.modify(modification.delete(page.tasks[0]))
      rescue Millpond::DependencyError => error
        error.deletes
      end
      tasks = store.list("q").tasks + store.list("p").tasks
      done = tasks.reduce(modification) { |all, task| all.delete(task) }
      store.modify(docs.reduce(done) { |all, doc| all.delete_doc(doc) })
    end
    assert store.are_empty?(prefixes: "")
  end

  def assert_calls_do_not_grow(turns, store)
    use(store, turns / 5)
    assert_does_not_grow { use(store, turns) }
  end

  def test_calls
    assert_calls_do_not_grow(600, store_on("memory:"))
  end

  def test_calls_to_a_server
    assert_calls_do_not_grow(300, store_on(Servers.shared.url))
  end

  def test_stores_loops_and_jobs
    client = connect("memory:")
    client.tasks("x").insert("q" * 4_000)
    make = lambda do |times|
      times.times do
        # All that is made here has the long name.
        store = client.tasks("x" * 4_000, claimant: "c" * 64)
        store.claims("q" * 4_000, wait: 60)
        store.insert("q" * 4_000)
        store.worker("q" * 4_000, error_queue: "e" * 4_000, wait: 60).jobs { |job| break job.done }
        store.claims("q" * 4_000).to_a
      end
    end
    make.call(300)
    assert_does_not_grow { make.call(3_000) }
  end

  # A job that is dropped is neither kept nor renewed forever.
  def test_jobs_that_are_forgotten
    store = store_on("memory:")
    before = threads_of_process
    200.times { store.insert("q") }
    200.times { store.worker("q", lease: 0.1).jobs { |job| break job } }
    3.times { GC.start }
    wait_until { store.queue_stats[0].available > 150 }
    assert_operator threads_of_process, :<, before + 5
  end

  # What comes with an interrupt is freed too.
  def test_interrupted_calls
    store = store_on("memory:")
    store.insert("q", value: "x" * 200_000)
    interrupted = 0
    calling = Thread.handle_interrupt(IndexError => :never) do
      Thread.new do
        loop do
          Thread.handle_interrupt(IndexError => :immediate) { loop { store.claim("q", lease: 0) } }
        rescue IndexError
          interrupted += 1
        end
      end
    end
    interrupt = lambda do |times|
      until interrupted >= times
        calling.raise(IndexError)
        sleep 0.0005
      end
    end
    interrupt.call(300)
    # A thousand tasks would be 200 MB; some tens are always there as Ruby's garbage.
    assert_does_not_grow(10 * GROWTH_BYTES_MAX) { interrupt.call(interrupted + 1_000) }
  ensure
    calling.kill.join
  end
end
