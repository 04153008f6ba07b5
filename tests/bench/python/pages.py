"""Pages, after which a recruiter drains a task store and reaps a family of hashes, if `MILLPOND_URL` names a server: as a
WSGI and as an ASGI application. With `MILLPOND_ENLIST=no` it is loaded, connected and installed, but never enlists.
"""

import asyncio
import os
import time

import millpond
import millpond.aio
import millpond.asgi
import millpond.wsgi

BODY = b"a page of the site " * 100
HEADERS = [("Content-Type", "text/plain"), ("Content-Length", str(len(BODY)))]
URL = os.environ.get("MILLPOND_URL", "")


def page(environ, start_response):
    start_response("200 OK", HEADERS)
    return [BODY]


async def async_page(scope, receive, send):
    if scope["type"] == "http":
        headers = [(name.lower().encode(), value.encode()) for name, value in HEADERS]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": BODY})


def site(client):
    recruiter = client.recruiter("site")
    recruiter.set_duty_max(1)

    @recruiter.job("orders", per_second=10, budget=0.01)
    def orders(slice):
        worker = client.tasks("store").worker("orders", budget=slice.remaining, concurrency=1)
        done = worker.drain(lambda job: time.sleep(0.001)).done
        if slice.is_over:
            slice.more()
        return done

    @recruiter.job("reap", per_second=20)
    def reap(slice):
        reaped = client.volatile_hashes("carts").reap(20)
        if reaped.more:
            slice.more()
        return reaped.fields

    return recruiter


def async_site(client):
    recruiter = client.recruiter("site")
    recruiter.set_duty_max(1)

    @recruiter.job("orders", per_second=10, budget=0.01)
    async def orders(slice):
        async def work(job):
            await asyncio.sleep(0.001)

        worker = client.tasks("store").worker("orders", budget=slice.remaining, concurrency=1)
        done = (await worker.drain(work)).done
        if slice.is_over:
            slice.more()
        return done

    @recruiter.job("reap", per_second=20)
    async def reap(slice):
        reaped = await client.volatile_hashes("carts").reap(20)
        if reaped.more:
            slice.more()
        return reaped.fields

    return recruiter


wsgi, asgi = page, async_page
if URL:
    recruiter, async_recruiter = site(millpond.connect(URL)), async_site(millpond.aio.connect(URL))
    if os.environ.get("MILLPOND_ENLIST") != "no":
        wsgi = millpond.wsgi.after_response(page, recruiter)
        asgi = millpond.asgi.after_response(async_page, async_recruiter)
