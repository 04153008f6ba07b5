"""A nightly job, by a cron expression, on a fleet of workers: one of them does it each night, once.

python examples/python/events_nightly.py redis://localhost

Any number of these may run. Seconds behind the URL stand for the night. With the default, memory:, the job
is done at once.
"""

import logging
import sys
from datetime import datetime, timezone

import millpond


def clean_up(job):
    """Does the job. Which night's it is says the time at which the event was to fire."""
    night = datetime.fromtimestamp(job.event.fire_at_us / 1_000_000, timezone.utc)
    print(f"clean up for {night:%Y-%m-%d %H:%M:%S}", flush=True)


logging.basicConfig()  # what goes wrong is logged
url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
with millpond.connect(url) as client:
    queue = client.events("examples/jobs")

    # Every process puts it when it starts: one that is there just so stays as it is.
    if len(sys.argv) > 2:
        queue.put_schedule("nightly", every=float(sys.argv[2]))
    else:
        queue.put_schedule("nightly", cron="30 3 * * *", zone="Europe/Berlin")
    schedule = queue.get_schedule("nightly")
    print(f"next at {datetime.fromtimestamp(schedule.next_us / 1_000_000, timezone.utc)}", flush=True)

    worker = queue.worker()
    if url == "memory:":
        queue.trigger_schedule("nightly")  # now, and the night stays as it is
        assert worker.drain(clean_up).done == 1
        assert queue.get_schedule("nightly").next_us == schedule.next_us
    else:
        worker.run(clean_up)
