"""An ASGI application that enlists after its responses."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import millpond
import millpond.aio
import millpond.asgi


def recruiter(notes: list[str]) -> millpond.aio.Recruiter:
    made = millpond.aio.connect("memory:").recruiter("site")
    made.set_duty_max(1)

    @made.job("a", share=1)
    async def work(slice: millpond.aio.Slice) -> None:
        await asyncio.sleep(0)
        notes.append(f"slice of {slice.budget}")

    return made


async def use(app: Any, notes: list[str], type: str = "http") -> None:
    """What a server does with an application."""

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        await asyncio.sleep(0)
        notes.append(message["type"])

    await app({"type": type}, receive, send)


async def app(scope: Any, receive: Any, send: Any) -> None:
    assert (await receive())["type"] == "http.request"
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


SENT = ["http.response.start", "http.response.body"]


async def test_the_response_is_sent_before_the_slice() -> None:
    notes: list[str] = []
    enlisting = millpond.asgi.after_response(app, recruiter(notes), budget=0.02)
    for _ in range(2):
        await use(enlisting, notes)
    assert notes == [*SENT, "slice of 0.02"] * 2


@pytest.mark.parametrize("type", ["lifespan", "websocket"])
async def test_other_scopes_do_not_enlist(type: str) -> None:
    notes: list[str] = []
    await use(millpond.asgi.after_response(app, recruiter(notes)), notes, type)
    assert notes == SENT


@pytest.mark.parametrize("error", [ZeroDivisionError, asyncio.CancelledError])
async def test_an_application_that_raises_does_not_enlist(error: type[BaseException]) -> None:
    async def raising(scope: Any, receive: Any, send: Any) -> None:
        await app(scope, receive, send)
        raise error

    notes: list[str] = []
    with pytest.raises(error):
        await use(millpond.asgi.after_response(raising, recruiter(notes)), notes)
    assert notes == SENT


async def test_a_blocking_recruiter_is_refused() -> None:
    site: Any = millpond.connect("memory:").recruiter("site")
    with pytest.raises(TypeError, match=r"recruiter must be a millpond\.aio\.Recruiter"):
        millpond.asgi.after_response(app, site)
