# frozen_string_literal: true

require_relative "helper"

# The recorded results of redis-ick 0.1.4, down to Integers and Floats. The conformance suite
# compares numbers by value and everything else too.
class RedisIckTracesTest < RedisIckTest
  CASES = File.join(ROOT, "tests/conformance/cases/ick")

  # A case's values, all of them: bytes and infinities have forms of their own.
  def decoded(value)
    case value
    when Array then value.map { |item| decoded(item) }
    when Hash
      return value["b64"].unpack1("m") if value.keys == ["b64"]

      value.transform_values { |item| decoded(item) }
    else { "inf" => Float::INFINITY, "-inf" => -Float::INFINITY }.fetch(value, value)
    end
  end

  # The same with all strings as bytes: the generations of redis-rb differ in encodings.
  def bytes(value)
    case value
    when Array then value.map { |item| bytes(item) }
    when Hash then value.transform_values { |item| bytes(item) }
    when String then value.b
    else value
    end
  end

  def call(ick, step, name)
    args = bytes(decoded(step["args"] || {}))
    case step["call"]
    when "ickadd" then ick.ickadd(name, *args["pairs"].flatten(1))
    when "ickreserve" then ick.ickreserve(name, args.fetch("max_size", 0), backwash: args["backwash"])
    when "ickcommit" then ick.ickcommit(name, *args["members"])
    when "ickexchange"
      ick.ickexchange(name, args["reserve_size"], *args["members"], backwash: args["backwash"])
    when "ickstats", "ickdel", "ickunlink" then ick.public_send(step["call"], name)
    end
  end

  def test_random_cases_and_their_kinds_of_numbers
    client = redis
    ick = Redis::Ick.new(client)
    compared = 0
    Dir[File.join(CASES, "random-*.json")].sort.each do |file|
      JSON.parse(File.read(file))["cases"].each do |one|
        client.flushdb
        one["steps"].each_with_index do |step, index|
          result = bytes(call(ick, step, step["key"] || one["key"]))
          next if step["lossy_stats"] || step["differs"]

          expected = bytes(decoded(step["returns"]))
          compared += 1
          where = "#{one['name']}, step #{index}"
          expected.nil? ? assert_nil(result, where) : assert_equal(expected, result, where)
          next unless expected.is_a?(Hash)

          # From there on the gem has Floats, because it prints no more digits.
          small = expected.reject { |_, value| value.is_a?(Float) && value.abs >= 1e14 }
          assert_equal small.transform_values(&:class), result.slice(*small.keys).transform_values(&:class), where
        end
      end
    end
    assert_operator compared, :>, 1_000
  end
end
