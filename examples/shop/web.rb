# frozen_string_literal: true

# The shop in Ruby: Rack under Puma, and its workers in threads beside it.
#
# REDIS_URL=redis://localhost PORT=8000 puma --config examples/shop/web.rb
#
# shop.py opens the customers' accounts, configures the events, and runs this shop in four languages.

require "json"
require "millpond"

WEEK = 7 * 24 * 60 * 60
# Pages fail fast while the server is away; workers do not.
pages = Millpond.connect(ENV.fetch("REDIS_URL"), retries: 0, timeout: 2)
client = Millpond.connect(ENV.fetch("REDIS_URL"))
store = client.tasks("shop")
news = client.events("shop/news")

charge = lambda do |job|
  order = job.task.id
  customer, amount = job.task.value.values_at("customer", "amount")
  # Until this job ends, no other one charges this customer.
  account, = job.claim_docs("accounts", customer, wait: 5)
  payload = JSON.generate(order: order, customer: customer)
  # A repeat adds nothing, as the id is made from the order.
  event = news.publish(payload, key: customer, dedup_id: "charged-#{order}", dedup_window: WEEK)
  balance = account.content["balance"] - amount
  number = account.content["charges"] + 1
  invoice = { order: order, customer: customer, amount: amount, number: number, event: event.status }
  charged = account.change(content: { balance: balance, charges: number })
  job.delete.change_doc(charged).insert("invoices", value: invoice)
end

invoice = ->(job) { job.delete.put_doc("invoices", job.task.value["order"], content: job.task.value) }

tell = lambda do |job|
  order, customer = JSON.parse(job.event.payload).values_at("order", "customer")
  notes = store.get_doc("news", customer)
  note = "#{job.event.id} #{order}"
  next if notes.content.include?(note) # an event can be delivered again

  # Refused if another worker has changed it: then the event is delivered again, too.
  store.modify(Millpond::Modification.new.change_doc(notes.change(content: [*notes.content, note])))
end

app do |env|
  next [404, {}, []] unless env["REQUEST_METHOD"] == "POST" && env["PATH_INFO"] == "/orders"

  id, customer, amount = JSON.parse(env["rack.input"].read).values_at("id", "customer", "amount")
  # A client that got no reply repeats this: the id stays taken for a week after the charge.
  pages.tasks("shop").insert("charges", value: { customer: customer, amount: amount }, id: id,
                                        dedup_window: WEEK, skip_colliding: true)
  [202, {}, []]
rescue Millpond::Error => error
  warn error.message
  [503, {}, []]
end
bind "tcp://127.0.0.1:#{ENV.fetch('PORT')}"
raise_exception_on_sigterm false # Puma ends with 0

# The lease is how long others wait for what a killed process held. Only the tenth kill puts a task aside.
options = { lease: 5, backoff: 0.5, max_crashes: 10 }
workers = {
  store.worker("charges", **options) => charge,
  store.worker("invoices", **options) => invoice,
  news.worker => tell
}
threads = workers.map { |worker, handler| Thread.new { worker.run(&handler) } }
at_exit do
  workers.each_key { |worker| worker.stop(within: 25) }
  threads.each(&:join)
end
