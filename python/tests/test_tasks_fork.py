"""A job is renewed by its own process, and by no child of a fork."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from processes import in_child
from waiting import renewing, until

import millpond


def test_a_job_is_renewed_while_children_renew_theirs(shared_server: Any, name: str) -> None:
    client = millpond.connect(renewing(shared_server.url))
    store = client.tasks(name)
    store.insert("job")
    (job,) = store.worker("job", lease=60).jobs()

    def work() -> None:
        own = client.tasks(f"{name}-child")
        assert list(own.claims("q", wait=0.02)) == []
        threading.Timer(0.05, lambda: own.insert("q", 1)).start()
        for own_job in own.worker("q", wait=60, lease=60).jobs():
            until(lambda: own_job.handle.version > own_job.task.version)  # its own timer renews it
            assert not own_job.is_lost
            own_job.done()
            break

    for _ in range(5):
        in_child(work)
    version = job.handle.version
    until(lambda: job.handle.version >= version + 3)
    # The store comes to have what the parent knows, so nobody else renewed it.
    until(lambda: job.handle.version == store.fetch(job.task.id)[0].version)
    assert not job.is_lost
    job.done()


def test_a_job_belongs_to_its_process(shared_server: Any, name: str) -> None:
    store = millpond.connect(shared_server.url).tasks(name)
    store.insert("q")
    (job,) = store.worker("q", lease=60).jobs()

    def work() -> None:
        calls: list[Any] = [job.done, lambda: job.retry("why"), lambda: job.claim_docs("n", "k")]
        for call in calls:
            with pytest.raises(millpond.ForkedError):
                call()
        assert store.queues() == {"q": 1}

    in_child(work)
    job.done()
    assert store.queues() == {}
