# frozen_string_literal: true

require_relative "helper"

# The drop-in with the generations of redis-rb besides the installed one, each in a process.
class GenerationsTest < MillpondTest
  FILES = Dir[File.expand_path("redis_ick/*_test.rb", __dir__)].sort.freeze

  { "4.2" => "4.2.", "5" => "5." }.each do |folder, version|
    define_method(:"test_redis_rb_#{folder.tr('.', '_')}") do
      system(File.expand_path("redis_rb/fetch", __dir__), exception: true)
      program = "ARGV.each { |file| require file }; " \
                "Minitest.after_run { puts Redis::VERSION, Redis::Namespace::VERSION }"
      output, status = run_ruby("-I", File.expand_path("redis_rb/#{folder}", __dir__), "-rminitest/autorun",
                                "-e", program, *FILES, seconds: 240)
      assert_predicate status, :success?, output
      assert_match(/^#{Regexp.escape(version)}/, output)
      assert_operator Integer(output[/^(\d+) runs,/, 1]), :>, 30
      assert_includes output, " 0 skips"
    end
  end
end
