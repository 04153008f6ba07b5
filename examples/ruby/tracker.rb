# frozen_string_literal: true

# What a queue tracker is for: a page asks which customers have work queued, and the work is in a database, which could
# not be asked as often. The pages themselves keep the tracker up to date, in small slices.
#
# ruby examples/ruby/tracker.rb [URL]

require "millpond"
require "sqlite3" # Debian's ruby-sqlite3, or the gem

def assert(claim)
  raise "not so" unless claim
end

PAGE = "select number, customer from work where number > ? order by number limit ?"

database = SQLite3::Database.new(":memory:")
database.execute("create table work(number integer primary key, customer text)")
insert = ->(customer) { database.execute("insert into work(customer) values (?)", [customer]) }
100.times { |number| insert.call("customer #{number % 10}") }

# The encoding of SQLite's texts, with which a prune compares ids.
Millpond.connect(ARGV.fetch(0, "memory:"), encoding: Encoding::UTF_8) do |client|
  # Of its own for each run.
  tracker = client.queue_tracker("examples/customers/#{Process.pid}")
  recruiter = client.recruiter("examples/shop/#{Process.pid}")
  recruiter.set_duty_max(1) # the pages of this program do nothing else

  # One scan and one prune at a time, in all processes of the shop together.
  recruiter.install("scan", per_second: 200, max_running: 1) do |slice|
    scanned = tracker.scan { |after, limit| database.execute(PAGE, [after.to_i, limit]) }
    slice.more if scanned.more # so that the job does not slow down
    scanned.rows
  end
  recruiter.install("prune", per_second: 200, max_running: 1) do |slice|
    pruned = tracker.prune do |ids|
      places = (["?"] * ids.size).join(", ")
      ids - database.execute("select distinct customer from work where customer in (#{places})", ids).flatten
    end
    slice.more if pruned.removed.positive?
    pruned.removed
  end

  customers = (0..10).map { |number| "customer #{number}" }
  tracked = lambda do
    customers.zip(tracker.are_queued?(customers)).filter_map { |customer, is_queued| customer if is_queued }
  end
  enlist_until = lambda do |expected|
    until tracked.call == expected
      # A page is sent to its visitor here; then:
      recruiter.enlist
      sleep 0.001
    end
  end
  enlist_until.call(customers.first(10))

  # The work of four customers is done, and there is work for another one. Its row first, and then its id.
  done = customers.values_at(1, 3, 5, 7)
  done.each { |customer| database.execute("delete from work where customer = ?", [customer]) }
  insert.call("customer 10")
  tracker.add("customer 10")
  assert tracker.queued?("customer 10")
  enlist_until.call(customers - done)
  assert tracker.len == 7
  recruiter.stop
  puts "7 of 11 customers have work queued, as the database says"
end
