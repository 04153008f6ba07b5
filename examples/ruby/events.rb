# frozen_string_literal: true

# What events are for: things that happen at their time, in order for each customer, until somebody has
# done them.
#
# ruby examples/ruby/events.rb [URL]

require "millpond"

DAY = 24 * 60 * 60

def assert(claim)
  raise "not so" unless claim
end

Millpond.connect(ARGV.fetch(0, "memory:")) do |client|
  # A queue of its own for each run.
  queue = client.events("examples/shop/#{Process.pid}")

  # A cart is left: a reminder tomorrow, once, however often the page says so.
  first = queue.publish("remind ann", delay: DAY, dedup_id: "cart-of-ann")
  again = queue.publish("remind ann", delay: DAY, dedup_id: "cart-of-ann")
  assert [again.status, again.id] == [:duplicate, first.id]

  # She looks at it again: a day later. She buys: no reminder.
  assert queue.reschedule(first, delay: 2 * DAY) == [:rescheduled]
  assert queue.cancel(first) == [:removed]

  # What happens to one order happens in order; other orders do not wait for it.
  queue.publish_many([{ payload: "order 7 is paid", key: "order-7" },
                      { payload: "order 7 is sent", key: "order-7" },
                      { payload: "order 8 is paid", key: "order-8" }])
  paid, other = queue.receive(10)
  assert [paid.payload, other.payload] == ["order 7 is paid", "order 8 is paid"]

  # The printer is out of paper: this one comes again at once, and before what follows in its order.
  queue.nack(paid, "out of paper", after: 0)
  queue.ack(other)
  ["order 7 is paid", "order 7 is sent"].each do |text|
    event, = queue.receive(10)
    assert event.payload == text
    puts "#{text} (attempt #{event.attempts})"
    queue.ack(event)
  end
  assert queue.stats.events.zero?
  queue.delete
end
