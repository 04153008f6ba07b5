# frozen_string_literal: true

# What a shuffle queue is for: one tenant's burst does not delay the others, and what a worker that
# dies has taken is not lost.
#
# ruby examples/ruby/shuffle.rb [URL]

require "millpond"

def assert(claim)
  raise "not so" unless claim
end

url = ARGV.fetch(0, "memory:")
Millpond.connect(url) do |client|
  queue = client.shuffle_queue("{examples/shuffle}", streams: 64, streams_per_shard: 4)
  consumer = queue.consumer("workers", "worker-1")

  # What an interrupted earlier run left. Two at once would see each other's messages.
  loop do
    left, = consumer.reclaim(min_idle: 0, max: 1_000)
    break if left.empty?

    consumer.ack_and_delete(left)
  end
  consumer.messages(max: 1_000) { |batch| consumer.ack_and_delete(batch) }

  # One tenant writes a thousand messages, and then another one writes one.
  queue.write_many([["busy", { "image" => "many.png" }]] * 1_000)
  queue.write("quiet", { "image" => "one.png", "size" => "40x40" })

  # The busy one has four of the streams, and consumers read from all that have messages, in turn:
  # the quiet one's message is among the first five.
  first = consumer.read_many(5)
  quiet = first.find { |message| message["image"] == "one.png" }
  assert quiet.fields == [["image", "one.png"], ["size", "40x40"]]
  puts "the message of the quiet tenant had not to wait for a thousand others"

  # worker-1 dies here, with five messages that it has not acknowledged. Another one reclaims them.
  # In production the idle time is much longer than the longest job, not 0.
  other = queue.consumer("workers", "worker-2", max_deliveries: 5)
  messages, = other.reclaim(min_idle: 0, max: 100)
  assert messages.map(&:deliveries) == [2] * 5
  assert other.ack_and_delete(messages) == 5
  puts "what a worker had taken that died was taken over"

  # Done is what is acknowledged.
  other.messages(max: 500) { |batch| other.ack_and_delete(batch) }
  assert queue.backlog.zero?
end
