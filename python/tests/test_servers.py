"""Every kind of server works from Python: what the URL says reaches the core."""

from __future__ import annotations

import asyncio

import pytest
from servers import Servers

import millpond
import millpond.aio


@pytest.mark.parametrize("kind", ["redis", "tls", "sentinel", "cluster"])
def test_kind_of_server(kind: str) -> None:
    with Servers(kind) as servers:
        url = servers.url
        if kind == "tls":
            url += f"?tls_ca={servers.started['ca_file']}"
        with millpond.connect(url) as client:
            assert client.ick("documents").add([(1.0, "a.txt")]) == (1, 0)
            queue = client.shuffle_queue("{jobs}", track_keys="queue")
            receipt = queue.write_tracked("tenant", {"job": "j-1"}, "job")

        async def reserve() -> list[tuple[bytes, float]]:
            async with millpond.aio.connect(url) as client:
                queue = client.shuffle_queue("{jobs}", track_keys="queue")
                async for messages in queue.consumer("g", "c").messages(wait=0.1):
                    assert [message.field("job") for message in messages] == [b"j-1"]
                assert await queue.delete_tracked("j-1") == receipt
                return await client.ick("documents").reserve(10)

        assert asyncio.run(reserve()) == [(b"a.txt", 1.0)]


def test_unix_socket(shared_server: Servers) -> None:
    with millpond.connect(shared_server.started["unix_url"]) as client:
        ick = client.ick("by-unix-socket")
        assert ick.add(["a.txt"]).new == 1


def test_certificate_of_an_unknown_authority() -> None:
    with Servers("tls") as servers, millpond.connect(servers.url) as client:
        with pytest.raises(millpond.InvalidUrlError, match="certificate"):
            client.ick("documents").stats()
