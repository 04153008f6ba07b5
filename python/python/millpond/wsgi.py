"""Background work after the responses of a WSGI application.

>>> import millpond, millpond.wsgi
>>> recruiter = millpond.connect("memory:").recruiter("site")
>>> @recruiter.job("sweep", share=0.05, budget=0.02)
... def sweep(slice):
...     ...
>>> def app(environ, start_response):
...     start_response("200 OK", [("Content-Length", "2")])
...     return [b"hi"]
>>> app = millpond.wsgi.after_response(app, recruiter)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Callable

from .recruiter import Recruiter
from .values import Seconds

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

__all__ = ["after_response"]


def after_response(
    app: WSGIApplication, recruiter: Recruiter, budget: Seconds | None = None
) -> WSGIApplication:
    """The same application, which enlists after each response: when the server has sent the body and closed it. The
    client has its response by then, and the server's thread or process does at most one slice before its next request.

    A response that was not finished enlists nothing: the application raised, or the client went away. Neither does a
    file that the application returns in the server's ``wsgi.file_wrapper``, which the server may send by other means.

    Let the body have a length, or a server that can send it in chunks: otherwise the client sees its end only when the
    server closes the connection, after the slice.

    :param app: the application
    :param recruiter: what to enlist with, of a client of :mod:`millpond`
    :param budget: the most time for a slice, in seconds; by default as long as its job says
    """
    if not isinstance(recruiter, Recruiter):
        raise TypeError(f"recruiter must be a millpond.Recruiter, not {type(recruiter).__name__}")

    def enlist() -> None:
        recruiter.enlist(budget)

    def enlisting(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        body = app(environ, start_response)
        file_wrapper = environ.get("wsgi.file_wrapper")
        if isinstance(file_wrapper, type) and isinstance(body, file_wrapper):
            return body
        # A server looks at the length of a body that has one.
        return (SizedBody if hasattr(body, "__len__") else Body)(body, enlist)

    return enlisting


class Body:
    """A body, and what to do when it has been sent."""

    def __init__(self, body: Iterable[bytes], then: Callable[[], None]) -> None:
        self._body = body
        self._then = then
        self._is_sent = False

    def __iter__(self) -> Iterator[bytes]:
        # `yield from` would close the body a second time when the server gives up.
        for block in self._body:  # noqa: UP028
            yield block
        self._is_sent = True

    def close(self) -> None:
        close = getattr(self._body, "close", None)
        if close is not None:
            close()
        if self._is_sent:
            self._is_sent = False
            self._then()


class SizedBody(Body):
    """A body that knows its number of blocks."""

    def __len__(self) -> int:
        return len(self._body)  # type: ignore[arg-type]
