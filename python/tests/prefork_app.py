"""The program that gunicorn loads once, before it forks: it makes a client and uses it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import millpond

client = millpond.connect(os.environ["URL"], client_name="prefork", decode_responses=True)
shared = client.ick("shared")
shared.add([(1, "loaded")])


def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    member = environ["PATH_INFO"].strip("/")
    own = client.ick(f"own-{member}")
    try:
        assert shared.add([(2, member)]) == millpond.Added(1, 0)
        assert own.add([(3, member), (4, "b")]) == millpond.Added(2, 0)
        assert own.exchange(2) == [(member, 3.0), ("b", 4.0)]
        assert own.commit([member, "b"]) == 2
        start_response("200 OK", [])
    except BaseException as failure:
        start_response("500 Wrong", [])
        return [repr(failure).encode()]
    return [str(os.getpid()).encode()]
