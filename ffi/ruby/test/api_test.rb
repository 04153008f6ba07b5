# frozen_string_literal: true

require_relative "helper"
require_relative "signatures"

# What programs see of the gem.
class ApiTest < MillpondTest
  # What values define on purpose.
  REDEFINED = %i[== eql? hash].freeze

  def self.public_modules(parent = Millpond)
    parent.constants.map { |name| parent.const_get(name) }.grep(Module).reject do |found|
      [Millpond::Native, Millpond::Call].include?(found)
    end
  end

  def test_no_method_shadows_one_that_every_object_has
    shadowed = self.class.public_modules.flat_map do |found|
      ours = found.public_instance_methods(false) & Object.public_instance_methods
      (ours - REDEFINED).map { |name| "#{found}##{name}" }
    end
    assert_empty shadowed
  end

  def test_the_signatures_are_those_of_the_comments
    assert_equal Signatures.text, File.read(File.join(GEM_ROOT, "sig/millpond.rbs")), "stale: rake signatures"
  end

  def test_the_signatures_are_valid
    libraries = %w[timeout monitor logger].flat_map { |library| ["-r", library] }
    output, status = Open3.capture2e(RbConfig.ruby, Gem.bin_path("rbs", "rbs"), *libraries, "-I", "sig", "validate",
                                     chdir: GEM_ROOT)
    assert_predicate status, :success?, output
  end

  # With each call checked against them.
  def test_examples_and_tests_keep_to_the_signatures
    names = %w[docs kinds workers tasks events shuffle shuffle_tracking ick volatile_hash field_lock recruiter
               queue_tracker]
    names.each do |name|
      output, status = run_ruby("-r#{__dir__}/typed", "test/#{name}_test.rb", "-n", "/_memory$|examples/",
                                env: { "MILLPOND_TEST_SERVERS" => Servers.binary }, chdir: GEM_ROOT)
      assert_predicate status, :success?, output
      assert_match(/^[1-9]\d* runs/, output)
    end
  end
end
