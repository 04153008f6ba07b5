"""A WSGI application that enlists after its responses."""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Iterator
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.util import FileWrapper
from wsgiref.validate import validator

import pytest
from waiting import SOON

import millpond
import millpond.aio
import millpond.wsgi

LENGTH = [("Content-Type", "text/plain"), ("Content-Length", "10")]


class Blocks:
    """A body of its own kind, which notes what happens to it."""

    def __init__(self, notes: list[str], fails: str = "") -> None:
        self.notes, self.fails = notes, fails

    def __iter__(self) -> Iterator[bytes]:
        for number in range(2):
            if self.fails == "next" and number:
                raise ZeroDivisionError
            self.notes.append("block")
            yield b"hello"

    def close(self) -> None:
        self.notes.append("close")
        if self.fails == "close":
            raise ZeroDivisionError


def recruiter(notes: list[str]) -> millpond.Recruiter:
    made = millpond.connect("memory:").recruiter("site")
    made.set_duty_max(1)
    made.install("a", lambda slice: notes.append(f"slice of {slice.budget}"), share=1)
    return made


def use(app: Any, blocks: int = 10) -> list[bytes]:
    """What a server does with an application; a client that goes away takes a few blocks."""
    body = app({"wsgi.file_wrapper": FileWrapper}, lambda *_: None)
    try:
        return [block for block, _ in zip(body, range(blocks))]
    finally:
        if hasattr(body, "close"):
            body.close()


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


BODIES = {
    "list": lambda: [b"hello", b"world"],
    "one block": lambda: [b"helloworld"],
    "tuple": lambda: (b"helloworld",),
    "generator": lambda: (block for block in (b"hello", b"", b"world")),
    "blocks": lambda: Blocks([]),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("is_valid", [False, True])
def test_the_client_has_its_response_before_the_slice(body: Any, is_valid: bool) -> None:
    site = millpond.connect("memory:").recruiter("site")
    is_received, slices = threading.Event(), []

    @site.job("a", share=1)
    def work(slice: millpond.Slice) -> None:
        slices.append(is_received.wait(SOON))

    def app(environ: Any, start_response: Any) -> Any:
        start_response("200 OK", LENGTH)
        return body()

    app = millpond.wsgi.after_response(app, site)
    with make_server("127.0.0.1", 0, validator(app) if is_valid else app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with socket.create_connection(server.server_address, SOON) as client:
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            received = b""
            while not received.endswith(b"world") and not received.endswith(b"hellohello"):
                block = client.recv(65_536)
                assert block
                received += block
            is_received.set()
        thread.join(SOON)
    assert slices == [True]


@pytest.mark.parametrize(("body", "length"), [("one block", b"10"), ("list", None), ("generator", None)])
def test_a_server_sees_the_length_of_a_body(body: str, length: bytes | None) -> None:
    def app(environ: Any, start_response: Any) -> Any:
        start_response("200 OK", LENGTH[:1])
        return BODIES[body]()

    app = millpond.wsgi.after_response(app, recruiter([]))
    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with socket.create_connection(server.server_address, SOON) as client:
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            received = client.makefile("rb").read()
        thread.join(SOON)
    head, _, content = received.partition(b"\r\n\r\n")
    assert content == b"helloworld"
    lengths = [line.split()[1] for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")]
    assert lengths == ([length] if length else [])


def test_a_body_is_closed_before_the_slice() -> None:
    notes: list[str] = []
    app = millpond.wsgi.after_response(lambda *_: Blocks(notes), recruiter(notes), budget=0.02)
    for _ in range(2):
        assert use(app) == [b"hello", b"hello"]
    assert notes == ["block", "block", "close", "slice of 0.02"] * 2


@pytest.mark.parametrize("fails", ["next", "close"])
def test_an_application_that_raises_does_not_enlist(fails: str) -> None:
    notes: list[str] = []
    app = millpond.wsgi.after_response(lambda *_: Blocks(notes, fails), recruiter(notes))
    with pytest.raises(ZeroDivisionError):
        use(app)
    assert notes[-1] == "close"

    def raising(environ: Any, start_response: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        use(millpond.wsgi.after_response(raising, recruiter(notes)))
    assert notes[-1] == "close"


def test_a_client_that_goes_away_is_no_response() -> None:
    notes: list[str] = []
    assert use(millpond.wsgi.after_response(lambda *_: Blocks(notes), recruiter(notes)), 1) == [b"hello"]
    assert notes[-1] == "close" and notes.count("close") == 1


def test_a_file_is_left_to_the_server() -> None:
    notes: list[str] = []
    file = io.BytesIO(b"hello")

    def app(environ: Any, start_response: Any) -> Any:
        return environ["wsgi.file_wrapper"](file)

    app = millpond.wsgi.after_response(app, recruiter(notes))
    body: Any = app({"wsgi.file_wrapper": FileWrapper}, lambda *_: None)
    assert type(body) is FileWrapper
    body.close()
    assert file.closed and not notes


def test_a_second_close_does_nothing() -> None:
    notes: list[str] = []
    app = millpond.wsgi.after_response(lambda *_: [b"hello"], recruiter(notes))
    body: Any = app({}, lambda *_: None)
    assert (len(body), list(body)) == (1, [b"hello"])
    body.close()
    body.close()
    assert notes == ["slice of 0.05"]


def test_a_recruiter_of_asyncio_is_refused() -> None:
    site: Any = millpond.aio.connect("memory:").recruiter("site")
    with pytest.raises(TypeError, match="recruiter must be a millpond.Recruiter"):
        millpond.wsgi.after_response(lambda *_: [], site)
