# frozen_string_literal: true

# Works on what shuffle_producer.rb writes, until nothing has come for a second.
#
# ruby examples/ruby/shuffle_consumer.rb redis://localhost
#
# Any number of consumers may run, each with a name of its own. With the default, memory:, it writes
# a few messages for itself first.

require "millpond"

url = ARGV.fetch(0, "memory:")
Millpond.connect(url) do |client|
  queue = client.shuffle_queue("{examples/jobs}")
  if url == "memory:"
    queue.write_many(%w[ann bob cy].map { |tenant| [tenant, { "tenant" => tenant, "page" => "1" }] })
  end

  consumer = queue.consumer("printers", "printer-#{Process.pid}", max_deliveries: 5)
  printed = 0
  print_page = lambda do |message|
    puts "printing page #{message['page']} for #{message['tenant']}"
    consumer.ack_and_delete(message)
    printed += 1
  end

  # What was delivered to others a minute ago and is not finished comes first. A message that was
  # tried five times becomes a dead letter.
  messages, dead = consumer.reclaim(min_idle: 60, max: 100)
  messages.each(&print_page)

  # A message is done when it is acknowledged. An exception leaves the rest of the batch pending, and
  # another consumer reclaims it: at least once.
  consumer.messages(max: 10, wait: 1) { |batch| batch.each(&print_page) }

  raise "three pages" unless printed == 3 || url != "memory:"

  puts "#{printed} pages, #{dead} given up, #{queue.pending_count('printers')} still with others"
end
