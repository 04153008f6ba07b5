# frozen_string_literal: true

# Inserts tasks, now and for later; run tasks_worker.rb with the same URL to work on them.
#
# ruby examples/ruby/tasks_producer.rb redis://localhost
#
# Any number of producers may run. With the default, memory:, other programs do not see what is
# inserted.

require "millpond"

url = ARGV.fetch(0, "memory:")
Millpond.connect(url) do |client|
  store = client.tasks("examples/mail")

  # Many tasks in one step: all of them or none.
  mails = Millpond::Modification.new
  %w[ann bob cy].each { |to| mails.insert("mails", value: { "to" => to }) }
  # One that has to go first, one for later, and one that is sent once, however often this runs
  # within a day of it.
  mails.insert("mails", value: { "to" => "dee" }, priority: 9)
  mails.insert("mails", value: { "to" => "eve" }, delay: 0.5)
  mails.insert("mails", value: { "to" => "all" }, id: "welcome", dedup_window: 86_400, skip_colliding: true)
  inserted = store.modify(mails).inserted

  raise "six mails" unless inserted.size == 6 || url != "memory:"

  puts "#{inserted.size} mails to send"
end
