"""The workers of a consumer; see :mod:`millpond.shuffle`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, AnyStr, Generic

from .._native import Message
from ..outcomes import no_modification_of_message
from ..values import Seconds
from .working import Runner

if TYPE_CHECKING:
    from . import _handles

__all__ = ["ShuffleJob", "ShuffleWorker"]


class ShuffleWorker(Runner["ShuffleJob[AnyStr]"], Generic[AnyStr]):
    """Runs a handler for the messages of a consumer; made by :meth:`ShuffleConsumer.worker`. :meth:`run` works until it
    is stopped, on ``concurrency`` messages at a time, and :meth:`drain` until nothing is left.

    The worker keeps a message while it is worked on: a native thread renews it three times per
    lease. When the handler returns, the message is acknowledged. A message that failed is delivered
    again, up to the consumer's ``max_deliveries``, after which it becomes a dead letter. The worker
    takes over the messages of consumers that are gone, and removes consumers that are gone for
    good. All workers of a group should have the same lease.

    >>> import millpond.aio
    >>> queue = millpond.aio.connect("memory:", decode_responses=True).shuffle_queue("jobs")
    >>> _ = await queue.write_many([("a", {"image": "1.png"}), ("b", {"image": "2.txt"})])
    >>> def resize(job):
    ...     if not job.message.field("image").endswith(".png"):
    ...         raise millpond.Reject("no image")
    >>> worker = queue.consumer("workers", "worker-1").worker(delete=True)
    >>> await worker.drain(resize, on_error=lambda job, error: None)
    JobCounts(done=1, retried=0, dead=1, others=0)
    >>> [letter.reason for letter in await queue.dead_letters()]
    ['rejected: no image']
    """

    _native: _handles.ShuffleWorker[AnyStr]
    _meant = staticmethod(no_modification_of_message)

    def stop(self, within: Seconds = 25) -> None: ...


class ShuffleJob(Generic[AnyStr]):
    """A message that is being worked on; passed to the handler of a :class:`ShuffleWorker`."""

    _native: _handles.ShuffleJob[AnyStr]

    @property
    def message(self) -> Message[AnyStr]:
        """The message, as it was taken."""
        return self._native.message

    @property
    def is_lost(self) -> bool: ...

    @property
    def is_last_attempt(self) -> bool: ...

    @property
    def time_left(self) -> float | None: ...

    def __str__(self) -> str:
        stream = self.message.stream
        return f"message {self.message.id} of {'its queue' if stream is None else f'stream {stream}'}"


ShuffleWorker._job = ShuffleJob
