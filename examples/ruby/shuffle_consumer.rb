# frozen_string_literal: true

# Works on what shuffle_producer.rb writes, until Ctrl-C or SIGTERM.
#
# ruby examples/ruby/shuffle_consumer.rb redis://localhost
#
# Any number of consumers may run, each with a name of its own. With the default, memory:, it works off a few messages
# of its own.

require "millpond"

# The work, which must be safe to do twice: a message is delivered at least once.
def print_page(job)
  puts "printing page #{job.message['page']} for #{job.message['tenant']}"
end

$stdout.sync = true
url = ARGV.fetch(0, "memory:")
Millpond.connect(url) do |client|
  queue = client.shuffle_queue("{examples/jobs}")
  consumer = queue.consumer("printers", "printer-#{Process.pid}", max_deliveries: 5)

  # A message is renewed while print_page runs, and then acknowledged and deleted. If that fails, the message is
  # delivered again, later; one that was tried five times becomes a dead letter. What a consumer left that is gone is
  # taken over after the lease, which all workers share. What goes wrong is logged.
  worker = consumer.worker(concurrency: 4, lease: 60, delete: true)
  if url == "memory:"
    queue.write_many(%w[ann bob cy].map { |tenant| [tenant, { "tenant" => tenant, "page" => "1" }] })
    raise "three pages" unless worker.drain(method(:print_page)).done == 3
  else
    # The first signal lets pages that are being printed be printed, for up to 25 seconds; a second one does not.
    worker.run(method(:print_page))
  end

  puts "#{queue.pending_count('printers')} still with others"
end
