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
  assert sessions.set_if_absent("ann", "cart 3", ttl: 30 * MINUTE)
  assert !sessions.set_if_absent("ann", "cart 4", ttl: 30 * MINUTE)
  sessions.set_many({ "bob" => "cart 5", "cy" => "cart 6" }, ttl: 10 * MINUTE)
  assert sessions.touch("bob", ttl: 30 * MINUTE)
  assert sessions.get_many(%w[ann dee]) == ["cart 3", nil]

  # Those first that expire first.
  first = sessions.fields(limit: 1)
  assert first.fields.map(&:field) == ["cy"]
  assert sessions.fields(after: first.next, omit_values: true).fields.map(&:field) == %w[ann bob]

  # Two requests ask for a page that is not there: one of them computes it, the other one waits.
  assert pages.get_or_acquire("/", "req-1", ttl: MINUTE).fence
  assert pages.get_or_acquire("/", "req-2", ttl: MINUTE).remaining.positive?
  pages.set_and_release("/", "req-1", "<h1>Shop</h1>", ttl: 10 * MINUTE)
  page = pages.get_or_acquire("/", "req-2", ttl: MINUTE).value
  assert page == "<h1>Shop</h1>"
  puts "req-2 shows #{page}"

  # One that was stopped for too long has lost its lock to another one, whose fence is higher.
  first = pages.acquire("/prices", "req-1", ttl: 0.001).fence
  sleep 0.001 until (lock = pages.lock("/prices", ttl: MINUTE)) # renewed until it is released
  assert lock.fence > first
  begin
    pages.set_and_release("/prices", "req-1", "old prices", ttl: 10 * MINUTE)
  rescue Millpond::LeaseLostError
    puts "req-1 sets no old prices"
  end
  lock.set("new prices", ttl: 10 * MINUTE)
  assert lock.release
  assert pages.get("/prices") == "new prices"

  # Nothing is left.
  assert [sessions.clear, pages.clear] == [3, 2]
end
