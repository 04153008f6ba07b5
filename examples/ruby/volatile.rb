# frozen_string_literal: true

# What a volatile hash is for: sessions that expire, each at its own time, and pages that many ask for and
# one computes.
#
# ruby examples/ruby/volatile.rb [URL]

require "millpond"

MINUTE = 60

def assert(claim)
  raise "not so" unless claim
end

Millpond.connect(ARGV.fetch(0, "memory:")) do |client|
  # Hashes of their own for each run.
  sessions = client.volatile_hash("examples/sessions/#{Process.pid}")
  pages = client.volatile_hash("examples/pages/#{Process.pid}")

  # A session lives for half an hour after it was last used.
  assert sessions.set_if_absent("ann", "cart 3", 30 * MINUTE)
  assert !sessions.set_if_absent("ann", "cart 4", 30 * MINUTE)
  sessions.set_many({ "bob" => "cart 5", "cy" => "cart 6" }, 10 * MINUTE)
  assert sessions.touch("bob", 30 * MINUTE)
  assert sessions.get_many(%w[ann dee]) == ["cart 3", nil]

  # Those first that expire first.
  first = sessions.fields(limit: 1)
  assert first.fields.map(&:field) == ["cy"]
  assert sessions.fields(after: first.next, omit_values: true).fields.map(&:field) == %w[ann bob]

  # Two servers are asked for a page that is not there: one of them computes it, the other one waits.
  fence = pages.get_or_acquire("/", "web-1", MINUTE).fence
  assert fence
  assert pages.get_or_acquire("/", "web-2", MINUTE).remaining.positive?
  pages.set_and_release("/", "web-1", "<h1>Shop</h1>", 10 * MINUTE)
  page = pages.get_or_acquire("/", "web-2", MINUTE).value
  assert page == "<h1>Shop</h1>"
  puts "web-2 shows #{page}"

  # One that was stopped for too long has lost its lock to another one, whose fence is higher.
  pages.acquire("/prices", "web-1", 0.001)
  sleep 0.001 until (second = pages.acquire("/prices", "web-2", MINUTE).fence)
  assert second > fence
  begin
    pages.set_and_release("/prices", "web-1", "old prices", 10 * MINUTE)
  rescue Millpond::LeaseLostError
    puts "web-1 sets no old prices"
  end
  pages.set_and_release("/prices", "web-2", "new prices", 10 * MINUTE)
  assert pages.get("/prices") == "new prices"

  # Nothing is left.
  assert [sessions.clear, pages.clear] == [3, 2]
end
