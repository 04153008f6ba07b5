# frozen_string_literal: true

# What a task store is for: a step of work and everything that follows from it happen together, once,
# even if several workers try it.
#
# ruby examples/ruby/tasks.rb [URL]

require "millpond"

def assert(claim)
  raise "not so" unless claim
end

url = ARGV.fetch(0, "memory:")
Millpond.connect(url) do |client|
  # A store of its own for each run.
  name = "examples/tasks/#{Process.pid}"
  ann = client.tasks(name, claimant: "ann")
  bob = client.tasks(name, claimant: "bob")

  # An order, and an account that it will be taken from.
  ann.insert("orders", value: { "account" => "7", "price" => 30 })
  ann.put_doc("accounts", "7", content: { "balance" => 100 })

  # Ann claims the order, and is too slow: her lease is over at once. Bob claims it as well.
  anns = ann.claim("orders", lease: 0)
  bobs = bob.claim("orders", lease: 30)
  assert [anns.version, bobs.version] == [1, 2]

  # Bob does all of it in one step: the order is gone, the invoice is there, the balance is less.
  account, = bob.claim_docs("accounts", bobs.value["account"])
  balance = account.content["balance"] - bobs.value["price"]
  done = Millpond::Modification.new
  done.delete(bobs).insert("invoices", value: bobs.value)
  done.change_doc(account.change(content: { "balance" => balance }, release: true))
  bob.modify(done)
  assert bob.get_doc("accounts", "7").content == { "balance" => 70 }

  # Ann's version is stale, so her modification is refused: no second invoice.
  begin
    ann.modify(Millpond::Modification.new.delete(anns).insert("invoices", value: anns.value))
    raise "the order was gone"
  rescue Millpond::DependencyError => error
    assert error.deletes == [anns.handle]
    puts "one order, one invoice: #{error.message}"
  end

  # A worker claims, renews while the block works, retries what failed, and moves to the error queue
  # what fails too often.
  worker = bob.worker("invoices", backoff: 0, backoff_max: 0, max_attempts: 2)
  worker.drain { raise Millpond::Retry, "the printer is off" }
  aside, = bob.list("invoices/err").tasks
  assert [aside.attempt, aside.err] == [2, "the printer is off\nexhausted: the printer is off"]
  puts "after #{aside.attempt} attempts in #{aside.queue}: #{aside.err.sub("\n", '; ')}"

  # It is switched on, and the invoice moved back.
  bob.modify(Millpond::Modification.new.change(aside.change(queue: "invoices", attempt: 0, err: "")))
  worker.drain { |job| puts "printed #{job.task.json}" }
  assert bob.queues.empty?
  bob.modify(Millpond::Modification.new.delete_doc(bob.get_doc("accounts", "7")))
end
