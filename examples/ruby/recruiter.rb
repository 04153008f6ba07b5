# frozen_string_literal: true

# What a recruiter is for: work in the background with no process of its own. The pages of a site remove expired
# carts and send mails, a little after each page.
#
# ruby examples/ruby/recruiter.rb [URL]

require "millpond"

def assert(claim)
  raise "not so" unless claim
end

Millpond.connect(ARGV.fetch(0, "memory:")) do |client|
  # Of its own for each run.
  carts = client.volatile_hashes("examples/carts/#{Process.pid}")
  100.times { |number| carts["customer #{number}"].set("book", "1", ttl: 0.001) }
  outbox = Array.new(20) { |number| "mail #{number}" }
  removed = 0
  failures = {}

  recruiter = client.recruiter("examples/site/#{Process.pid}")
  recruiter.set_duty_max(1) # the pages of this program do nothing else
  # Without a job it is the server's error: it did not respond in time.
  recruiter.on_error { |job, error| failures[job] = error.message }

  # 200 slices a second, in all processes of the site together. A slice takes up to 20 ms.
  recruiter.install("reap", per_second: 200, budget: 0.02) do |slice|
    count = 0
    until slice.over?
      reaped = carts.reap(limit: 10)
      count += reaped.fields
      break unless reaped.more

      slice.more # so that the job does not slow down
    end
    removed += count
    count # 0 says that there was nothing to do: the job then runs less often
  end

  # One page in two, by a lottery in the process.
  recruiter.install("mail", share: 0.5) { outbox.shift ? true : false } # send it

  # A job that fails, fails no page.
  recruiter.install("report", share: 0.1) { raise "no database" }

  while removed < 100 || outbox.any? || !failures.key?("report")
    # A page is sent to its visitor here; then:
    duty = recruiter.enlist
    assert(!duty.recruited || duty.why == :worked)
    sleep 0.001
  end
  recruiter.stop
  assert recruiter.enlist.why == :stopped
  assert removed == 100 && failures["report"] == "no database"
  puts "100 carts were removed and 20 mails sent, and no page failed"

  # What the processes have reported, a moment later.
  items = -> { recruiter.stats.jobs.to_h { |job| [job.job, job.items] }.values_at("reap", "mail") }
  sleep 0.001 until items.call == [100, 20]
end
