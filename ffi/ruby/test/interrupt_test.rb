# frozen_string_literal: true

require "socket"
require_relative "helper"
require_relative "kinds"

# Ctrl-C, Thread#kill, Thread#raise and Timeout end a call that waits; other threads go on meanwhile.
class InterruptTest < MillpondTest
  def hung_server
    server = own_server
    connect(server.url).ick("x").add([[1, "a"]])
    server.run("stop")
    server
  end

  def test_ctrl_c_while_a_server_hangs
    server = hung_server
    ick = connect(server.url, timeout: 60).ick("x")
    assert_interrupted { ick.add([[1, "b"]]) }
    server.run("cont")
    assert_equal 1, ick.add([[1, "c"]]).new
  end

  def test_ctrl_c_while_a_server_cannot_be_reached
    port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    ick = connect("redis://127.0.0.1:#{port}", timeout: 60, retries: 1000).ick("x")
    assert_interrupted { ick.add([[1, "b"]]) }
  end

  Kinds::ALL.each do |kind|
    define_method(:"test_timeout_ends_calls_of_#{kind.label}_while_a_server_hangs") do
      server = own_server
      queue = kind.new(connect(server.url, timeout: 60), "x")
      queue.put(1)
      server.run("stop")
      queue.calls.each do |call|
        took = seconds { assert_raises(Timeout::Error) { Timeout.timeout(0.1) { call.call } } }
        assert_operator took, :<, SOON
      end
      server.run("cont")
      assert queue.put(2)
    end
  end

  def test_killing_a_thread_whose_server_hangs
    server = hung_server
    ick = connect(server.url, timeout: 60).ick("x")
    thread = in_thread { ick.add([[1, "b"]]) }
    thread.kill
    assert_same thread, thread.join(SOON)
    server.run("cont")
  end

  def test_a_signal_handler_that_raises_nothing_ends_nothing
    server = hung_server
    ick = connect(server.url, timeout: 60).ick("x")
    handled = []
    before = trap(:USR1) { handled << :usr1 }
    going_on = once_it_waits do
      Process.kill(:USR1, Process.pid)
      wait_until { handled.any? }
      sleep 0.2 # the call goes on waiting
      server.run("cont")
    end
    assert_equal 1, ick.add([[1, "b"]]).new
    going_on.join
    assert_equal [:usr1], handled
  ensure
    trap(:USR1, before)
  end

  def test_a_signal_handler_can_raise_what_it_likes_and_call
    server = hung_server
    hung = connect(server.url, timeout: 60).ick("x")
    ick = ick_on("memory:")
    before = trap(:USR1) do
      ick.add([[1, "handled"]])
      raise IndexError, "from the handler"
    end
    once_it_waits { Process.kill(:USR1, Process.pid) }
    error = assert_raises(IndexError) { hung.add([[1, "b"]]) }
    assert_equal "from the handler", error.message
    assert_equal [["handled", 1.0]], ick.peek(1)
    server.run("cont")
  ensure
    trap(:USR1, before)
  end

  def test_a_signal_handler_that_throws
    ick = ick_on("memory:")
    before = trap(:USR1) { throw :out }
    began = now
    catch(:out) do
      once_it_waits { Process.kill(:USR1, Process.pid) }
      assert_raises(Millpond::CancelledError) { ick.each_batch(1, wait: 60) { flunk } }
    end
    assert_operator now - began, :<, SOON
    assert_equal 1, ick.add([[1, "a"]]).new
  ensure
    trap(:USR1, before)
  end

  def test_an_interrupt_that_is_held_back_comes_when_it_may
    server = hung_server
    ick = connect(server.url, timeout: 60).ick("x")
    reached = nil
    thread = in_thread do
      Thread.handle_interrupt(IndexError => :never) do
        reached = assert_raises(Millpond::CancelledError) { ick.add([[1, "b"]]) }
      end
      flunk "it comes here"
    rescue IndexError => error
      error.message
    end
    thread.raise(IndexError, "held back")
    assert_equal "held back", thread.value
    assert_equal :unknown, reached.retry
    server.run("cont")
  end

  def test_many_signals
    ick = ick_on("memory:")
    handled = 0
    before = trap(:USR1) { handled += 1 }
    sending = Thread.new do
      300.times do
        Process.kill(:USR1, Process.pid)
        sleep 0.001
      end
      ick.add([[1, "done"]])
    end
    assert_equal [["done", 1.0]], ick.each_batch(1, wait: 60).first
    sending.join
    assert_operator handled, :>, 0
  ensure
    trap(:USR1, before)
  end

  def test_other_threads_go_on
    server = hung_server
    ick = connect(server.url, timeout: 60).ick("x")
    thread = Thread.new { ick.add([[1, "b"]]) }
    began = now
    20.times { sleep 0.001 }
    assert_operator now - began, :<, SOON
    assert_interrupted { sleep 60 }
    assert_predicate thread, :alive?
    server.run("cont")
    assert_equal 1, thread.value.new
  end

  def test_a_lease_is_for_one_thread
    server = hung_server
    server.run("cont")
    lease = connect(server.url, timeout: 60).ick("x").lease(ttl: 60)
    server.run("stop")
    thread = in_thread { lease.reserve(1) }
    error = assert_raises(Millpond::InvalidArgumentError) { lease.reserve(1) }
    assert_match(/another thread/, error.message)
    server.run("cont")
    assert_equal [["a", 1.0]], thread.value
  end

  def test_a_lock_is_for_one_thread
    server = own_server
    hash = connect(server.url, timeout: 60).volatile_hash("x")
    lock = hash.lock("a", ttl: 60)
    server.run("stop")
    thread = in_thread { lock.set("1", ttl: 60) }
    error = assert_raises(Millpond::InvalidArgumentError) { lock.set("2", ttl: 60) }
    assert_match(/another thread/, error.message)
    server.run("cont")
    assert_nil thread.value
    assert_equal "1", hash.get("a")
  end

  def test_a_program_that_ctrl_c_ends
    reading, writing = IO.pipe
    program = 'puts; $stdout.flush; Millpond.connect("memory:").ick("x").each_batch(1, wait: 60) { }'
    child = spawn({ "MILLPOND_LIBRARY" => LIBRARY_PATH }, RbConfig.ruby, "-I#{GEM_ROOT}/lib",
                  "-rmillpond", "-e", program, out: writing, err: File::NULL)
    reading.gets
    sleep 0.2
    Process.kill(:INT, child)
    _, status = Timeout.timeout(SOON) { Process.wait2(child) }
    assert_equal Signal.list["INT"], status.termsig
  end
end
