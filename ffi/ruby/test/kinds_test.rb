# frozen_string_literal: true

require_relative "helper"
require_relative "kinds"

# What is true of every kind of queue: closed clients, the lives of objects, threads.
class KindsTest < MillpondTest
  Kinds::ALL.each do |kind|
    on_every_backend :"#{kind.label}_of_a_closed_client" do |url|
      client = connect(url)
      queue = kind.new(client, name_of_queue)
      queue.put(*0...6)
      under_way = queue.under_way
      assert_raises(Millpond::ClosedError) { queue.batches.each { client.close } }
      waits = kind.waits.map { |how| -> { queue.wait(how) } }
      [*queue.calls, *under_way, *waits, -> { kind.new(client, "x").put(1) }].each do |call|
        assert_raises(Millpond::ClosedError, &call)
      end
      client.close
    end

    define_method(:"test_#{kind.label}_outlives_what_made_it") do
      queue = Thread.new { kind.new(Millpond.connect("memory:"), "x") }.value
      3.times { GC.start }
      queue.put(*0...3)
      batches = queue.batches
      batch = batches.next
      queue = nil
      3.times { GC.start }
      assert_equal [1, 1], [batch.size, batches.next.size]
      assert_nil queue
    end

    on_every_backend :"many_threads_share_#{kind.label}" do |url|
      queue = queue_of(kind, url)
      putting = Array.new(4) { |thread| Thread.new { 25.times { |number| queue.put((25 * thread) + number) } } }
      putting.each(&:join)
      taking = Array.new(kind::SHARED.empty? ? 1 : 4) do
        Thread.new do
          queue.batches.flat_map { |batch| queue.numbers(batch.tap { queue.finish(batch) }) }
        end
      end
      assert_equal [*0...100], taking.flat_map(&:value).sort
    end
  end

  # Its block's value is returned.
  on_every_backend :a_client_of_a_block_is_closed_after_it do |url|
    client = nil
    result = Millpond.connect(url) do |opened|
      client = opened
      client.ick(name_of_queue).add([[1, "a"]]).new
    end
    assert_equal 1, result
    assert_raises(Millpond::ClosedError) { client.ick(name_of_queue).stats }
  end
end
