# frozen_string_literal: true

require_relative "helper"

# Nothing grows with the number of calls to a queue of events.
class EventsMemoryTest < MillpondTest
  PAYLOAD = "x" * 2_000

  def use(queue, turns)
    turns.times do
      queue.publish_many([PAYLOAD, { payload: PAYLOAD, key: "k", headers: { "h" => "v" } }])
      queue.deliveries { |(event)| break queue.ack_with(event, ["next"]) }
      queue.worker.drain { |job| job.event.payload.size }
      queue.put_schedule("own", cron: "@daily", payload: PAYLOAD)
      queue.sync_schedules("app", 1, [{ id: "a", every: 60, payload: PAYLOAD, headers: { "h" => "v" } }])
      queue.trigger_schedule("a")
      queue.ack(queue.receive.first)
      assert_equal %w[a own], queue.list_schedules.map(&:id)
      refused = assert_raises(Millpond::InvalidArgumentError) { queue.put_schedule("own", cron: PAYLOAD) }
      assert_match(/cron/, refused.message)
      queue.remove_schedule("own")
      assert_nil queue.get_schedule("own")
    end
  end

  def test_calls
    queue = connect("memory:").events("e")
    use(queue, 200)
    assert_does_not_grow { use(queue, 2_000) }
  end
end
