# frozen_string_literal: true

# Has the rest of the program check each call against the signatures: a wrong one raises.
ENV.update("RBS_TEST_TARGET" => "Millpond,Millpond::*", "RBS_TEST_OPT" => "-r timeout -r logger -I #{__dir__}/../sig",
           "RBS_TEST_RAISE" => "true", "RBS_TEST_LOGLEVEL" => "error")
require "rbs/test/setup"

# It would ask an Enumerator for what it has, which would be gone.
RBS::Test::TypeCheck.prepend(Module.new do
  def value(value, type)
    value.is_a?(Enumerator) || super
  end
end)
