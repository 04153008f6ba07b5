# frozen_string_literal: true

# Works on what tasks_producer.rb inserts, until nothing has come for a second.
#
# ruby examples/ruby/tasks_worker.rb redis://localhost
#
# Any number of workers may run. With the default, memory:, it inserts a few tasks for itself first.

require "millpond"

url = ARGV.fetch(0, "memory:")
Millpond.connect(url) do |client|
  store = client.tasks("examples/mail")
  %w[ann bob cy].each { |to| store.insert("mails", value: { "to" => to }) } if url == "memory:"

  # A task is leased and renewed while the block runs. If that fails it is retried, later each time;
  # after five attempts, or if its workers died ten times while they worked on it, it goes to mails/err.
  worker = store.worker("mails", max_attempts: 5, max_claims: 10, wait: 1)
  worker.run do |job|
    raise Millpond::Release if job.lost?

    mail = job.task.value
    puts "sending to #{mail['to']}"
    # What follows from it happens in the same step as the end of the task: here a note for the archive.
    job.delete.insert("archive", value: mail)
  end

  archived = 0
  store.claims("archive", max: 100) do |batch|
    archived += batch.size
    store.modify(batch.reduce(Millpond::Modification.new) { |done, task| done.delete(task) })
  end
  raise "three mails" unless archived == 3 || url != "memory:"

  puts "#{archived} mails archived"
end
