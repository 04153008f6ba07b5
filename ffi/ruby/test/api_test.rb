# frozen_string_literal: true

require_relative "helper"

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
end
