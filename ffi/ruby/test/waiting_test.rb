# frozen_string_literal: true

require_relative "helper"
require_relative "kinds"

# A loop or a call that waits lets other threads work, sees what comes, and is ended by what interrupts it: in every
# kind of queue.
class WaitingTest < MillpondTest
  Kinds.each_wait do |name, kind, how|
    # A run has no end but a stop.
    unless how == :run
      on_every_backend :"#{name}_ends_when_its_time_is_over" do |url|
        queue = queue_of(kind, url)
        [0.1, 1r / 10].each do |time|
          took = seconds { assert_equal [], queue.wait(how, time) }
          assert_includes 0.1..SOON, took
        end
        assert_operator seconds { assert_equal [], queue.wait(how, 0) }, :<, SOON
      end
    end

    on_every_backend :"#{name}_sees_what_comes" do |url|
      queue = queue_of(kind, only_woken(url))
      seen = Queue.new
      thread = in_thread { queue.each(how) { |numbers| seen << numbers } }
      3.times do |number|
        queue.put(number)
        assert_equal [number], Timeout.timeout(PATIENCE) { seen.pop }
        sleep 0.02 # it waits again
      end
      thread.kill.join
    end

    on_every_backend :"ctrl_c_ends_#{name}" do |url|
      queue = queue_of(kind, url)
      assert_interrupted { queue.wait(how) }
      queue.put(1)
      assert_equal [1], queue.wait(how)
    end

    on_every_backend :"timeout_ends_#{name}" do |url|
      queue = queue_of(kind, url)
      took = seconds { assert_raises(Timeout::Error) { Timeout.timeout(0.1) { queue.wait(how) } } }
      assert_operator took, :<, SOON
    end

    on_every_backend :"killing_and_raising_end_#{name}" do |url|
      queue = queue_of(kind, url)
      cleaned = false
      thread = in_thread do
        queue.wait(how)
      ensure
        cleaned = true
      end
      thread.kill
      assert_same thread, thread.join(SOON)
      assert_equal [true, false], [cleaned, thread.status]
      thread = in_thread { queue.wait(how) }
      thread.raise(IndexError, "from another thread")
      assert_equal "from another thread", assert_raises(IndexError) { thread.value }.message
    end

    on_every_backend :"closing_ends_#{name}" do |url|
      queue = queue_of(kind, url)
      thread = in_thread { queue.wait(how) }
      close_clients
      assert_raises(Millpond::ClosedError) { Timeout.timeout(SOON) { thread.value } }
    end

    # It is not known when the program lets it through.
    define_method(:"test_an_interrupt_that_is_held_back_cancels_#{name}") do
      queue = queue_of(kind, "memory:")
      thread = Thread.new do
        Thread.handle_interrupt(IndexError => :never) do
          Thread.current.raise(IndexError, "held back")
          2.times { assert_raises(Millpond::CancelledError) { queue.wait(how) } }
        end
        flunk "it comes here"
      rescue IndexError => error
        error.message
      end
      assert_same thread, thread.join(SOON)
      assert_equal "held back", thread.value
    end
  end

  Kinds.each_loop do |name, kind, how|
    define_method(:"test_#{name}_is_an_enumerator_for_one_thread") do
      batches = queue_of(kind, "memory:").public_send(how, Kinds::FOR_EVER)
      thread = in_thread { batches.next }
      assert_raises(FiberError) { batches.next }
      thread.kill.join
    end
  end

  Kinds::WAITING.each do |kind|
    kind::SHARED.each do |how|
      on_every_backend :"many_threads_wait_in_#{kind.label}_#{how}_and_each_gets_one" do |url|
        queue = queue_of(kind, url)
        threads = Array.new(5) { in_thread { queue.wait(how) } }
        queue.put(*0...5)
        assert_equal [[0], [1], [2], [3], [4]], threads.map(&:value).sort
      end
    end

    # What comes later is seen at its time.
    if kind.instance_method(:put).parameters.any? { |parameter, _| parameter == :keyrest }
      kind.waits.each do |how|
        on_every_backend :"#{kind.label}_#{how}_sees_the_time_come" do |url|
          queue = queue_of(kind, url)
          took = seconds do
            queue.put(7, delay: 0.3)
            assert_equal [7], queue.wait(how)
          end
          assert_includes 0.2..SOON, took
        end
      end
    end

    on_every_backend :"a_program_ends_although_threads_wait_in_#{kind.label}" do |url|
      program = <<~'PROGRAM'
        kind = Kinds.const_get(ARGV[0])
        client = Millpond.connect(ARGV[1])
        kind.waits.each { |how| Thread.new { kind.new(client, ARGV[2]).wait(how) } }
        busy = kind.new(client, "#{ARGV[2]}-busy")
        busy.put(1)
        Thread.new { busy.worker(lease: 0.1).run { sleep } } if busy.respond_to?(:worker)
        other = kind.new(Millpond.connect("memory:"), "x")
        Thread.new { loop { other.put(1) } }
        sleep 0.3
        print "end"
      PROGRAM
      output, status = run_ruby("-r#{__dir__}/kinds", "-e", program, kind.name[/\w+\z/], url, name_of_queue, seconds: 60)
      assert_equal ["end", true], [output, status.success?]
    end
  end
end
