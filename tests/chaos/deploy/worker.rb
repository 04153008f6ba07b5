# frozen_string_literal: true

# The worker of the deploy storm in Ruby; mod.rs says what it does.

require "json"
require "millpond"

$stdout.sync = true

def say(line)
  $stdout.write("#{Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)} #{line}\n")
end

def work_for(name, ms, what, first)
  say("begin #{name}")
  sleep(ms / 1000.0)
  if what == "retry" && first
    say("run #{name} retry")
    raise "it fails the first time"
  end
  if what == "reject"
    say("run #{name} reject")
    raise Millpond::Reject, "it is told so"
  end
  say("run #{name} done")
end

def follows(said)
  { "n" => said["n"] + 1_000_000, "ms" => said["ms"], "then" => "done" }
end

def do_task(job)
  said = job.task.value
  work_for("task-#{said['n']}", said["ms"], said["then"], job.task.attempt.zero?)
  ended = job.delete.insert("out", id: "out-#{said['n']}")
  return ended unless said["then"] == "follow"

  value = follows(said)
  ended.insert("jobs", id: "j#{value['n']}", value: value)
end

def do_message(job)
  message = job.message
  work_for("message-#{message['n']}", Integer(message["ms"]), message["then"], message.deliveries == 1)
end

def do_event(queue, event)
  said = JSON.parse(event.payload)
  work_for("event-#{said['n']}", said["ms"], said["then"], event.attempts == 1)
  queue.ack_with(event, [{ payload: JSON.generate(follows(said)), key: event.key }]) if said["then"] == "follow"
end

def tell(report)
  say("told #{report.kind} #{report.message.inspect}") unless %i[done released].include?(report.kind)
end

role, url, life = ARGV
options = { lease: 10, concurrency: 4, prefetch: 4 }
backoff = { backoff: 0.1, backoff_max: 0.2 }
Millpond.connect(url) do |client|
  case role
  when "tasks"
    handler, worker = method(:do_task), client.tasks("storm").worker("jobs", **options, **backoff)
  when "messages"
    consumer = client.shuffle_queue("storm-messages").consumer("workers", life)
    handler, worker = method(:do_message), consumer.worker(delete: true, **options, **backoff)
  else
    queue = client.events("storm-events")
    handler, worker = ->(job) { do_event(queue, job.event) }, queue.worker(**options)
  end
  trap("TERM") { worker.stop(within: 20) } # until run begins
  puts "ready"
  worker.run(handler, on_error: ->(_job, _error) {}, on_event: method(:tell), stop_within: 20)
end
