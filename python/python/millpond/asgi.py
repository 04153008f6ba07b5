"""Background work after the responses of an ASGI application.

>>> import millpond.aio, millpond.asgi
>>> recruiter = millpond.aio.connect("memory:").recruiter("site")
>>> @recruiter.job("sweep", share=0.05, budget=0.02)
... async def sweep(slice):
...     ...
>>> async def app(scope, receive, send):
...     await send({"type": "http.response.start", "status": 200})
...     await send({"type": "http.response.body", "body": b"hi"})
>>> app = millpond.asgi.after_response(app, recruiter)
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Callable

from .aio.recruiter import Recruiter
from .values import Seconds

__all__ = ["after_response"]

Application = Callable[[Any, Any, Any], Awaitable[Any]]
"""An application with the scope, ``receive`` and ``send``."""


def after_response(
    app: Application, recruiter: Recruiter, budget: Seconds | None = None
) -> Application:
    """The same application, which enlists after each response: when the application has returned from a scope of type
    ``http``. Other scopes, such as ``lifespan`` and ``websocket``, enlist nothing, and neither does an application that
    raises or whose task is cancelled.

    A handler that is no coroutine function keeps the event loop from other requests while it runs.

    :param app: the application
    :param recruiter: what to enlist with, of a client of :mod:`millpond.aio`
    :param budget: the most time for a slice, in seconds; by default as long as its job says
    """
    if not isinstance(recruiter, Recruiter):
        raise TypeError(
            f"recruiter must be a millpond.aio.Recruiter, not {type(recruiter).__name__}"
        )

    async def enlisting(scope: Any, receive: Any, send: Any) -> None:
        await app(scope, receive, send)
        if scope["type"] == "http":
            await recruiter.enlist(budget)

    return enlisting
