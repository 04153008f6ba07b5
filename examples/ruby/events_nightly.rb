# frozen_string_literal: true

# A nightly job, by a cron expression, on a fleet of workers: one of them does it each night, once.
#
# ruby examples/ruby/events_nightly.rb redis://localhost
#
# Any number of these may run. Seconds behind the URL stand for the night. With the default, memory:, the job is done
# at once.

require "millpond"

def time(at_us)
  Time.at(at_us / 1_000_000).utc
end

# Does the job. Which night's it is says the time at which the event was to fire.
def clean_up(job)
  puts "clean up for #{time(job.event.fire_at_us)}"
end

$stdout.sync = true
url, seconds = ARGV
url ||= "memory:"
Millpond.connect(url) do |client|
  queue = client.events("examples/jobs")

  # Every process puts it when it starts: one that is there just so stays as it is.
  night = seconds ? { every: Float(seconds) } : { cron: "30 3 * * *", zone: "Europe/Berlin" }
  queue.put_schedule("nightly", **night)
  schedule = queue.get_schedule("nightly")
  puts "next at #{time(schedule.next_us)}"

  worker = queue.worker
  if url == "memory:"
    queue.trigger_schedule("nightly") # now, and the night stays as it is
    raise "not so" unless worker.drain { |job| clean_up(job) }.done == 1
    raise "not so" unless queue.get_schedule("nightly") == schedule
  else
    worker.run { |job| clean_up(job) }
  end
end
