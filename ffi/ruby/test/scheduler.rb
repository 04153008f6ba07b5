# frozen_string_literal: true

# As little of a fiber scheduler as the tests need: fibers that sleep, wait for a thread or have a
# timeout. It watches no files.
class Scheduler
  # Runs the block in a fiber and returns when that has ended, and those that it has started by
  # Fiber.schedule. Raises what one of them raised.
  def self.run(&block)
    failed = nil
    Thread.new do
      Fiber.set_scheduler(new)
      Fiber.schedule do
        block.call
      rescue Exception => failure
        failed = failure
      end
    end.join
    raise failed if failed
  end

  def initialize
    @waking = {} # what to do, by the time and a number
    @ready = Thread::Queue.new
    @blocked = {}.compare_by_identity # the fibers, which nothing else may hold
    @number = 0
    @woken, @wakes = IO.pipe
  end

  def close
    until @waking.empty? && @blocked.empty? && @ready.empty?
      wait
      @ready.pop.resume until @ready.empty?
      due = @waking.keys.select { |(time, _)| time <= now }.sort
      due.each { |key| @waking.delete(key)&.call }
    end
    [@woken, @wakes].each(&:close)
  end

  def fiber(&block)
    Fiber.new(blocking: false, &block).tap(&:resume)
  end

  def kernel_sleep(seconds = nil)
    block(:sleep, seconds)
  end

  def block(_blocker, timeout = nil)
    fiber = Fiber.current
    key = timeout && later(timeout) { fiber.resume }
    @blocked[fiber] = true
    Fiber.yield
  ensure
    @blocked.delete(fiber)
    @waking.delete(key)
  end

  # From any thread.
  def unblock(_blocker, fiber)
    @ready << fiber
    @wakes.write_nonblock(".")
  end

  def io_wait(io, events, timeout)
    IO.select([io], (events & IO::WRITABLE).zero? ? nil : [io], nil, timeout)
    events
  end

  def timeout_after(seconds, kind, *arguments)
    fiber = Fiber.current
    key = later(seconds) { fiber.raise(kind, *arguments) }
    yield seconds
  ensure
    @waking.delete(key)
  end

  private

  def later(seconds, &work)
    key = [now + seconds, @number += 1]
    @waking[key] = work
    key
  end

  def wait
    return unless @ready.empty?

    soonest = @waking.keys.min
    ready, = IO.select([@woken], nil, nil, soonest && [soonest[0] - now, 0].max)
    @woken.read_nonblock(1000) if ready
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
