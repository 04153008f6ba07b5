# frozen_string_literal: true

# Writes messages of several tenants; run shuffle_consumer.rb with the same URL to work on them.
#
# ruby examples/ruby/shuffle_producer.rb redis://localhost
#
# Any number of producers may run. With the default, memory:, other programs do not see what is
# written.

require "millpond"

def assert(claim)
  raise "not so" unless claim
end

url = ARGV.fetch(0, "memory:")
Millpond.connect(url) do |client|
  # The braces tie all keys of the queue to one slot, for a cluster.
  queue = client.shuffle_queue("{examples/jobs}", streams: 16, streams_per_shard: 4, track_keys: :queue)

  # Many messages in one step, each for its tenant.
  jobs = %w[ann bob cy].product(%w[1 2 3]).map do |tenant, page|
    [tenant, { "tenant" => tenant, "page" => page }]
  end
  receipts = queue.write_many(jobs)
  assert receipts.size == 9

  # One that can be deleted by its number.
  number = "ann/4/#{Process.pid}"
  queue.write_tracked("ann", { "tenant" => "ann", "page" => "4", "job" => number }, "job")
  deleted = queue.delete_tracked(number)
  # A consumer may have been faster.
  assert deleted || url != "memory:"

  assert queue.backlog >= 9 || url != "memory:"
  puts "#{receipts.size} messages written"
end
