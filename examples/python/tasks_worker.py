"""Works on what tasks_producer.py inserts, until Ctrl-C or SIGTERM.

python examples/python/tasks_worker.py redis://localhost

Any number of workers may run. With the default, memory:, it works off a few tasks of its own.
"""

import logging
import sys

import millpond


def send(job):
    """Sends a mail. What follows from it happens in the same step as the end of the task: here a
    note for the archive.
    """
    if job.is_lost:
        raise millpond.Release
    print(f"sending a mail to {job.task.value['to']}", flush=True)
    return job.delete().insert("archive", job.task.value)


logging.basicConfig()  # what goes wrong is logged
url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
with millpond.connect(url) as client:
    store = client.tasks("examples/mail")

    # A task is leased and renewed while send runs. If it raises, the task is retried, later
    # each time; after five attempts, or if its workers died ten times while they worked on it,
    # it goes to mails/err.
    worker = store.worker("mails", max_attempts=5, max_crashes=10)

    if url == "memory:":
        for who in ("ann", "bob", "cy"):
            store.insert("mails", {"to": who})
        assert worker.drain(send).done == 3
    else:
        # The first signal lets mails that are being sent be sent, for up to 25 s; a second one
        # does not.
        worker.run(send)

    archived = store.worker("archive").drain(lambda job: None)
    print(f"{archived.done} mails archived")
