"""The worker of the deploy storm in Python; `mod.rs` says what it does."""

import json
import signal
import sys
import time

import millpond


def say(line):
    sys.stdout.write(f"{time.monotonic_ns()} {line}\n")  # one write
    sys.stdout.flush()


def work_for(name, ms, then, is_first):
    say(f"begin {name}")
    time.sleep(ms / 1000)
    if then == "retry" and is_first:
        say(f"run {name} retry")
        raise RuntimeError("it fails the first time")
    if then == "reject":
        say(f"run {name} reject")
        raise millpond.Reject("it is told so")
    say(f"run {name} done")


def follows(said):
    return {"n": said["n"] + 1_000_000, "ms": said["ms"], "then": "done"}


def do_task(job):
    said = job.task.value
    work_for(f"task-{said['n']}", said["ms"], said["then"], job.task.attempt == 0)
    end = job.delete().insert("out", id=f"out-{said['n']}")
    if said["then"] != "follow":
        return end
    value = follows(said)
    return end.insert("jobs", value, id=f"j{value['n']}")


def do_message(job):
    n, ms, then = (job.message.field(name) for name in ("n", "ms", "then"))
    work_for(f"message-{n}", int(ms), then, job.message.deliveries == 1)


def do_event(queue, event):
    said = json.loads(event.payload)
    work_for(f"event-{said['n']}", said["ms"], said["then"], event.attempts == 1)
    if said["then"] == "follow":
        queue.ack_with(event, [millpond.NewEvent(json.dumps(follows(said)), key=event.key)])


def tell(report):
    if report.kind not in ("done", "released"):
        say(f"told {report.kind} {report.message!r}")


_, role, url, life = sys.argv
options = {"lease": 10, "concurrency": 4, "prefetch": 4}
backoff = {"backoff": 0.1, "backoff_max": 0.2}
with millpond.connect(url, decode_responses=True) as client:
    if role == "tasks":
        handler, worker = do_task, client.tasks("storm").worker("jobs", **options, **backoff)
    elif role == "messages":
        consumer = client.shuffle_queue("storm-messages").consumer("workers", life)
        handler, worker = do_message, consumer.worker(delete=True, **options, **backoff)
    else:
        queue = client.events("storm-events")
        handler, worker = lambda job: do_event(queue, job.event), queue.worker(**options)
    signal.signal(signal.SIGTERM, lambda *_: worker.stop(20))  # until run begins
    print("ready", flush=True)
    worker.run(handler, on_error=lambda job, error: None, on_event=tell, stop_within=20)
