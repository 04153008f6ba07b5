# frozen_string_literal: true

require_relative "helper"

# Tests that hang, in a suite of their own.
class LimitTest < MillpondTest
  HANGING = <<~'RUBY'
    require ARGV[0]

    class HangingTest < MillpondTest
      # Keeps the lock of Ruby forever: a thread could not end it.
      def test_in_a_native_call
        libc = Module.new { extend FFI::Library }
        libc.ffi_lib FFI::Library::LIBC
        libc.attach_function :pause, [], :int
        loop { libc.pause }
      end

      # What this waits for is never sent, and it may not be interrupted.
      def test_in_a_wait
        trap(:TERM) { }
        ick = Millpond.connect("memory:").ick("x")
        ick.each_batch(1, wait: Float::INFINITY) { }
      end
    end
  RUBY

  %w[test_in_a_native_call test_in_a_wait].each do |hanging|
    define_method(:"#{hanging}_is_named_and_ended") do
      arguments = ["-e", HANGING, File.join(GEM_ROOT, "test/helper"), "--name", hanging]
      output, status = run_ruby(*arguments, env: { "MILLPOND_TEST_SECONDS_MAX" => "1" }, seconds: 60)
      assert_equal Signal.list["KILL"], status.termsig, output
      assert_match(/HANGS: HangingTest##{hanging} did not end within 1 s/, output)
    end
  end
end
