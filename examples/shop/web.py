"""The shop in Python: FastAPI under uvicorn, and its workers in the lifespan.

REDIS_URL=redis://localhost PORT=8000 python examples/shop/web.py

shop.py opens the customers' accounts, configures the events, and runs this shop in four languages.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys

import fastapi
import pydantic
import uvicorn

import millpond.aio

WEEK = 7 * 24 * 60 * 60
# Pages fail fast while the server is away; workers do not.
pages = millpond.aio.connect(os.environ["REDIS_URL"], retries=0, timeout=2)
client = millpond.aio.connect(os.environ["REDIS_URL"])
store, news = client.tasks("shop"), client.events("shop/news")


async def charge(job):
    order, customer, amount = job.task.id, job.task.value["customer"], job.task.value["amount"]
    # Until this job ends, no other one charges this customer.
    (account,) = await job.claim_docs("accounts", customer, wait=5)
    payload = json.dumps({"order": order, "customer": customer})
    # A repeat adds nothing, as the id is made from the order.
    dedup = {"dedup_id": f"charged-{order}", "dedup_window": WEEK}
    event = await news.publish(payload, key=customer, **dedup)
    balance, number = account.content["balance"] - amount, account.content["charges"] + 1
    invoice = {**job.task.value, "order": order, "number": number, "event": event.status}
    charged = account.change({"balance": balance, "charges": number})
    return job.delete().change_doc(charged).insert("invoices", invoice)


def invoice(job):
    return job.delete().put_doc("invoices", job.task.value["order"], job.task.value)


async def tell(job):
    charged = json.loads(job.event.payload)
    notes = await store.get_doc("news", charged["customer"])
    note = f"{job.event.id} {charged['order']}"
    if note not in notes.content:  # an event can be delivered again
        # Refused if another worker has changed it: then the event is delivered again, too.
        noted = notes.change([*notes.content, note])
        await store.modify(millpond.Modification().change_doc(noted))


@contextlib.asynccontextmanager
async def lifespan(app):
    # The lease is how long others wait for what a killed process held. Only the tenth kill puts
    # a task aside.
    options = {"lease": 5, "backoff": 0.5, "max_crashes": 10}
    async with pages, client:
        workers = {
            store.worker("charges", **options): charge,
            store.worker("invoices", **options): invoice,
            news.worker(): tell,
        }
        runs = [asyncio.create_task(worker.run(handler)) for worker, handler in workers.items()]
        yield
        for worker in workers:
            worker.stop(within=25)
        await asyncio.gather(*runs)


class Order(pydantic.BaseModel):
    id: str
    customer: str
    amount: int


app = fastapi.FastAPI(lifespan=lifespan)


@app.post("/orders", status_code=202)
async def order(order: Order):
    value = {"customer": order.customer, "amount": order.amount}
    try:
        # A client that got no reply repeats this: the id stays taken for a week after the charge.
        dedup = {"id": order.id, "dedup_window": WEEK, "skip_colliding": True}
        await pages.tasks("shop").insert("charges", value, **dedup)
    except millpond.MillpondError as error:
        logging.warning("order %s: %s", order.id, error)
        raise fastapi.HTTPException(503) from error


if __name__ == "__main__":
    logging.basicConfig()
    # uvicorn raises the signal again when it has stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    uvicorn.run(app, port=int(os.environ["PORT"]))
