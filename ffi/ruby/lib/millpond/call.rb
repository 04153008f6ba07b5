# frozen_string_literal: true

require "millpond/dependency"
require "millpond/errors"

module Millpond
  # Makes every call into the library: raises its error, and lets an interrupt of a Ruby thread
  # (Ctrl-C, Thread#raise, Thread#kill, Timeout) end a call that waits.
  #
  # Ruby must not unwind the library's frames. So interrupts are deferred during a call. The library
  # calls {.stop?} periodically and whenever a signal arrives; if an interrupt is pending, the call
  # ends, and Ruby handles the interrupt after the call. Signal handlers cannot be deferred:
  # {.stop?} runs them on the main thread and keeps what they raise until the call has ended.
  #
  # Under a fiber scheduler each call that may wait runs on a separate thread, and the fiber waits
  # for that thread. Otherwise a call would block all fibers of its thread, since the library waits
  # by itself and not on something that a scheduler can watch.
  #
  # @api private
  module Call
    HELD_BACK = { Object => :never }.freeze
    RAISED = :millpond_raised
    SCHEDULERS = Fiber.respond_to?(:current_scheduler) # from Ruby 3.1 on
    private_constant :HELD_BACK, :RAISED, :SCHEDULERS

    # Makes a call: yields the out-parameter for its error, and the block returns the call's status.
    #
    # @param waits [Boolean] whether it may wait, so that it needs its own thread under a fiber scheduler
    # @raise [Error] the library's error
    def self.check(waits: true)
      out = FFI::MemoryPointer.new(:pointer)
      status = if waits && SCHEDULERS && Fiber.current_scheduler
                 on_thread { uninterrupted { yield out } }
               else
                 uninterrupted { yield out }
               end
      fail_with(status, out.read_pointer) unless status.zero?
    ensure
      Native.millpond_error_free(out.read_pointer) if out && status != 0
    end

    # Makes a call that returns a handle.
    #
    # @return [FFI::AutoPointer, nil] of the given kind; nil for NULL
    def self.handle(kind)
      out = FFI::MemoryPointer.new(:pointer)
      made = nil
      check { |error| yield out, error }
      pointer = out.read_pointer
      made = kind.new(pointer) unless pointer.null?
    ensure
      # An interrupt arrived together with the result.
      kind.release(out.read_pointer) if out && !made
    end

    # Makes a call that returns a number.
    def self.number(type, waits: true)
      out = FFI::MemoryPointer.new(type)
      check(waits: waits) { |error| yield out, error }
      out.get(type, 0)
    end

    # Makes a call that returns a boolean for each item.
    #
    # @yield the out-parameters for the booleans and the error
    # @return [Array<Boolean>]
    def self.flags(count)
      out = FFI::MemoryPointer.new(:bool, [count, 1].max)
      check { |error| yield out, error }
      out.read_array_of_uint8(count).map { |flag| flag == 1 }
    end

    # Runs a block that no interrupt can break into.
    def self.held_back(&work)
      Thread.handle_interrupt(HELD_BACK, &work)
    end

    # Returns an error that the library owns, without raising it.
    #
    # @return [Error]
    def self.error(pointer)
      fail_with(Native.millpond_error_code(pointer), pointer)
    rescue Error => error
      error
    end

    # Whether a waiting call has to stop; the library calls this on the waiting thread. It neither
    # raises nor throws. What a handler throws cannot be determined, so it cannot be thrown again;
    # the call ends all the same.
    def self.stop?
      stop = true
      # This is where the main thread runs signal handlers.
      Thread.pass if Thread.current == Thread.main
      stop = Thread.pending_interrupt?
    rescue Exception => raised
      Thread.current.thread_variable_set(RAISED, raised)
      stop = true
    ensure
      return stop
    end

    def self.uninterrupted
      raised = nil
      status = Thread.handle_interrupt(HELD_BACK) do
        yield
      ensure
        raised = take_raised
      end
      raised ? raise(raised) : status
    end

    def self.on_thread(&call)
      thread = Thread.new(&call)
      thread.report_on_exception = false
      thread.value
    ensure
      stop(thread) if thread&.alive?
    end

    # Ends a call whose fiber was interrupted. The call writes to the caller's memory, so the caller
    # continues only after the call has ended.
    def self.stop(thread)
      thread.kill.join
    rescue Exception
      thread.alive? ? retry : raise
    end

    def self.take_raised
      thread = Thread.current
      return unless thread.thread_variable?(RAISED)

      raised = thread.thread_variable_get(RAISED)
      thread.thread_variable_set(RAISED, nil)
      raised
    end

    def self.fail_with(status, pointer)
      kind = ERROR_CLASSES.fetch(status, InternalError)
      told = [Native.millpond_error_message(pointer), Native.millpond_error_operation(pointer)]
      told.map! { |string| text(string) }
      error = kind <= DependencyError ? kind.new(*told, **Dependency.of(pointer)) : kind.new(*told)
      cause = Native.millpond_error_cause(pointer)
      cause ? raise(error, cause: RuntimeError.new(text(cause))) : raise(error)
    end

    def self.text(string)
      string.force_encoding(Encoding::UTF_8)
    end
    private_class_method :uninterrupted, :on_thread, :stop, :take_raised, :fail_with

    QUESTION = FFI::Function.new(:bool, []) { stop? }
    private_constant :QUESTION
    Native.millpond_on_interrupt(QUESTION)
  end
end
