# frozen_string_literal: true

# Publishes webhooks, in order for each customer, and one for later; run events_worker.rb with the same URL to
# deliver them.
#
# ruby examples/ruby/events_producer.rb redis://localhost
#
# Any number of producers may run. With the default, memory:, other programs do not see what is published.

require "json"
require "millpond"

url = ARGV.fetch(0, "memory:")
Millpond.connect(url) do |client|
  queue = client.events("examples/webhooks")

  # Those of a customer are delivered one after the other, in this order.
  events = %w[ann bob].product(%w[paid packed sent]).map do |to, what|
    { payload: JSON.generate(to: to, what: what), key: to, headers: { "version" => "1" } }
  end
  # One whose address does not exist, one for later, and one that is published once, however often this runs.
  events << { payload: JSON.generate(to: "nobody", what: "paid"), key: "nobody" }
  events << { payload: JSON.generate(to: "ann", what: "reviewed?"), key: "ann", delay: 0.5 }
  events << { payload: JSON.generate(to: "all", what: "welcome"), dedup_id: "welcome" }

  created = queue.publish_many(events).count { |published| published.status == :created }
  raise "not so" unless created == 9 || url != "memory:"

  puts "#{created} webhooks to deliver"
end
