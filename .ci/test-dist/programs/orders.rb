# frozen_string_literal: true

# ruby orders.rb URL produce|work|count [NUMBER]: orders that become invoices, as in the other languages' programs.

require "millpond"

bill = lambda do |job|
  sleep 0.02
  puts job.task.value["number"]
  job.delete.insert("invoices", value: job.task.value)
end

$stdout.sync = true
url, role, number = ARGV
Millpond.connect(url) do |client|
  store = client.tasks("shop")
  insert = ->(count) { count.times { |order| store.insert("orders", value: { "number" => order }) } }
  case role
  when "produce"
    insert.call(Integer(number))
  when "work"
    store.worker("orders", concurrency: 2, lease: 1).run(bill)
    puts "stopped"
  else
    if url == "memory:"
      insert.call(3)
      store.worker("orders").drain(bill)
    end
    queues = store.queues.to_h
    puts "#{queues.fetch('orders', 0)} orders, #{queues.fetch('invoices', 0)} invoices"
  end
end
