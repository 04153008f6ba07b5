# frozen_string_literal: true

require_relative "helper"

# What opening a directory found is returned by the client and reported as warnings.
class RecoveryTest < Minitest::Test
  LOG = "00000000000000000001.log"

  def test_a_torn_end_and_a_cut
    Dir.mktmpdir do |folder|
      data, copy = %w[data copy].map { |name| File.join(folder, name) }
      Millpond.connect("file:#{data}?sync=never") do |client|
        assert_equal [0, 0, true, nil, []],
                     client.recovery.to_h.values_at(:records, :torn_bytes, :closed, :suspicion, :warnings)
        [[1, "a"], [2, "b"]].each { |pair| client.ick("files").add([pair]) }
        # What a kill would leave, and less.
        Dir.mkdir(copy, 0o700)
        cut(File.join(data, LOG), File.join(copy, LOG))
      end

      found = nil
      _, told = capture_io do
        Millpond.connect("file:#{copy}") { |client| found = client.recovery }
      end
      assert_equal [1, 0, false], found.to_h.values_at(:records, :snapshot_bytes, :closed)
      assert_operator found.torn_bytes, :>, 40
      assert_operator found.log_bytes, :>, 1000
      assert_includes found.suspicion, "#{found.torn_bytes} bytes"
      assert_equal [found.suspicion], found.warnings
      assert_match(/\A.*#{File.basename(__FILE__)}:\d+: warning: millpond: #{Regexp.escape(found.suspicion)}\Z/, told)

      cut(File.join(copy, LOG), File.join(copy, LOG))
      error = assert_raises(Millpond::CorruptError) { Millpond.connect("file:#{copy}") }
      assert_includes error.message, "the file ends here"
      _, told = capture_io { Millpond.connect("file:#{copy}?repair").close }
      assert_includes told, "warning: millpond: repaired, "
    end
  end

  def test_other_clients_have_none
    assert_nil Millpond.connect("memory:").recovery
  end

  private

  def cut(from, to)
    File.binwrite(to, File.binread(from)[0..-6])
  end
end
