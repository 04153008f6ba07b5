# frozen_string_literal: true

# Delivers what events_producer.rb publishes, until Ctrl-C or SIGTERM.
#
# ruby examples/ruby/events_worker.rb redis://localhost
#
# Any number of workers may run. With the default, memory:, it delivers a few webhooks of its own.

require "json"
require "millpond"

# Delivers a webhook. The customer's next one comes when this one has ended.
def deliver(job)
  event = job.event
  raise Millpond::Release if job.lost?
  raise Millpond::Reject, "no such address" if event.key == "nobody"
  # A server that is busy is asked again: what fails is put off, each time longer, and holds up its own customer
  # only.
  raise Millpond::Retry.new("bob's server is busy", delay: 0.02) if event.key == "bob" && event.attempts == 1

  webhook = JSON.parse(event.payload)
  puts "deliver to #{webhook['to']}: #{webhook['what']}"
end

$stdout.sync = true
url = ARGV.fetch(0, "memory:")
Millpond.connect(url) do |client|
  queue = client.events("examples/webhooks")
  worker = queue.worker(concurrency: 4)

  if url == "memory:"
    %w[ann bob nobody].each { |to| queue.publish(JSON.generate(to: to, what: "paid"), key: to) }
    drained = worker.drain { |job| deliver(job) }
    raise "not so" unless [drained.done, drained.dead] == [1, 1]

    sleep 0.03
    raise "not so" unless worker.drain { |job| deliver(job) }.done == 1
  else
    # The first signal lets webhooks that are being delivered be delivered, for up to 25 s; a second one does not.
    worker.run { |job| deliver(job) }
  end

  puts "#{queue.stats.dead} webhooks could not be delivered"
end
