"""Every kind of error is a class, with Python's own where they fit."""

from __future__ import annotations

import asyncio
import builtins
import pickle
import socket
from typing import Any

import pytest
import redis

import millpond
import millpond.aio
from millpond import _native, errors


def test_every_kind_has_a_class_of_its_own() -> None:
    classes = [errors.CLASSES[code] for code, _, _ in _native.ERROR_KINDS]
    assert len(set(classes)) == len(_native.ERROR_KINDS) >= 22
    for (code, name, retry), found in zip(_native.ERROR_KINDS, classes):
        assert issubclass(found, millpond.MillpondError)
        assert (found.code, found.name, found.retry) == (code, name, retry)
        assert name.replace("_", "").lower() + "error" == found.__name__.lower()
        assert found.__doc__
        assert getattr(millpond, found.__name__) is found
    public = {name for name in millpond.__all__ if name.endswith("Error")} - {"MillpondError"}
    assert public == {found.__name__ for found in classes}


@pytest.mark.parametrize(
    ("ours", "python"),
    [
        (millpond.InvalidArgumentError, ValueError),
        (millpond.InvalidUrlError, ValueError),
        (millpond.TimeoutError, builtins.TimeoutError),
        (millpond.ConnectionFailedError, ConnectionError),
        (millpond.ConnectionLostError, ConnectionError),
        (millpond.PermissionDeniedError, PermissionError),
        (millpond.AuthenticationFailedError, PermissionError),
        (millpond.StorageError, OSError),
    ],
)
def test_pythons_own(ours: type[BaseException], python: type[BaseException]) -> None:
    assert issubclass(ours, python)


def test_an_error_survives_pickling() -> None:
    for found in errors.CLASSES.values():
        copy = pickle.loads(pickle.dumps(found("what happened", "ick.add")))
        assert type(copy) is found
        assert (str(copy), copy.operation) == ("what happened", "ick.add")


async def test_wrong_type(connect: Any, shared_server: Any, name: str) -> None:
    redis.Redis.from_url(shared_server.url).lpush(name, "x")
    ick = connect(shared_server.url).ick(name)
    with pytest.raises(millpond.WrongTypeError) as raised:
        await ick.add([(1, "a")])
    error = raised.value
    assert (error.code, error.name, error.operation) == (4, "WRONG_TYPE", "ick.add")
    assert error.retry == "never"
    assert str(error).startswith("ick.add: ")


async def test_no_server_listens(connect: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    ick = connect(f"redis://127.0.0.1:{port}", retries=0).ick("x")
    with pytest.raises(millpond.ConnectionFailedError) as raised:
        await ick.add([(1, "a")])
    assert raised.value.retry == "later"
    assert str(port) in str(raised.value)


async def test_no_answer(connect: Any, own_server: Any) -> None:
    ick = connect(own_server.url, timeout=2).ick("x")
    await ick.add([(1, "a")])
    own_server.run("stop")
    with pytest.raises(builtins.TimeoutError) as raised:
        await ick.add([(1, "a")])
    assert raised.value.retry == "unknown"  # type: ignore[attr-defined]
    own_server.run("cont")


async def test_refused(connect: Any, shared_server: Any) -> None:
    admin = redis.Redis.from_url(shared_server.url)
    admin.acl_setuser("reader", enabled=True, passwords=["+pw"], categories=["+@read"], keys=["*"])
    with pytest.raises(millpond.AuthenticationFailedError) as refused:
        await connect(shared_server.url, username="reader", password="no-pw").ick("x").stats()
    assert "no-pw" not in str(refused.value)
    with pytest.raises(millpond.PermissionDeniedError):
        await connect(shared_server.url, username="reader", password="pw").ick("x").stats()


async def test_client_name(connect: Any, shared_server: Any, name: str) -> None:
    client = connect(shared_server.url, client_name=name)
    await client.ick(name).stats()
    assert name in {one["name"] for one in redis.Redis.from_url(shared_server.url).client_list()}


def test_a_panic_is_an_error() -> None:
    with pytest.raises(millpond.InternalError, match="Millpond panicked: on request"):
        _native._panic(False)

    async def main() -> None:
        with pytest.raises(millpond.InternalError, match="Millpond panicked: on request"):
            await _native._panic(True)

    asyncio.run(main())
