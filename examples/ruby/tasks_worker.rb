# frozen_string_literal: true

# Works on what tasks_producer.rb inserts, until Ctrl-C or SIGTERM.
#
# ruby examples/ruby/tasks_worker.rb redis://localhost
#
# Any number of workers may run. With the default, memory:, it works off a few tasks of its own.

require "millpond"

# Sends a mail. What follows from it happens in the same step as the end of the task: here a note for the archive.
def send_mail(job)
  return Millpond::Release.new if job.lost?

  mail = job.task.value
  puts "sending to #{mail['to']}"
  job.delete.insert("archive", value: mail)
end

$stdout.sync = true
url = ARGV.fetch(0, "memory:")
Millpond.connect(url) do |client|
  store = client.tasks("examples/mail")

  # A task is leased and renewed while send_mail runs. If that fails it is retried, later each time; after five
  # attempts, or if its workers died ten times while they worked on it, it goes to mails/err. What goes wrong is logged.
  worker = store.worker("mails", concurrency: 4, max_attempts: 5, max_crashes: 10)
  if url == "memory:"
    %w[ann bob cy].each { |to| store.insert("mails", value: { "to" => to }) }
    raise "three mails" unless worker.drain(method(:send_mail)).done == 3
  else
    # The first signal lets mails that are being sent be sent, for up to 25 seconds; a second one does not.
    worker.run(method(:send_mail))
  end

  puts "#{store.worker('archive').drain { nil }.done} mails archived"
end
