"""What a task store is for: a step of work and everything that follows from it happen together,
once, even if several workers try it.

python examples/python/tasks.py [URL]
"""

import os
import sys

import millpond

url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
with millpond.connect(url) as client:
    # A store of its own for each run.
    name = f"examples/tasks/{os.getpid()}"
    ann, bob = client.tasks(name, claimant="ann"), client.tasks(name, claimant="bob")

    # An order, and an account that it will be taken from.
    ann.insert("orders", {"account": "7", "price": 30})
    ann.put_doc("accounts", "7", {"balance": 100})

    # Ann claims the order, and is too slow: her lease is over at once. Bob claims it as well.
    anns, bobs = ann.claim("orders", lease=0), bob.claim("orders")
    assert (anns.version, bobs.version) == (1, 2)

    # Bob does all of it in one step: the order is gone, the invoice is there, the balance is less.
    (account,) = bob.claim_docs("accounts", bobs.value["account"])
    balance = account.content["balance"] - bobs.value["price"]
    all_of_it = millpond.Modification().delete(bobs).insert("invoices", bobs.value)
    all_of_it.change_doc(account.change({"balance": balance}, release=True))
    done = bob.modify(all_of_it)
    assert done.changed_docs[0].content == {"balance": 70}

    # Ann's version is stale, so her modification is refused: no second invoice.
    try:
        ann.modify(millpond.Modification().delete(anns).insert("invoices", anns.value))
        raise AssertionError("the order is gone")
    except millpond.DependencyError as error:
        assert error.deletes == [(anns.id, 1)]
        print("one order, one invoice:", error)

    # A worker claims, renews while the handler works, retries what failed, and moves to the error
    # queue what fails too often.
    def send(job):
        """The work of a worker; any exception makes it retry."""
        raise millpond.Retry("the printer is off")

    worker = bob.worker("invoices", backoff=0, backoff_max=0, max_attempts=2)
    worker.drain(send)
    (aside,) = bob.list("invoices/err").tasks
    assert (aside.attempt, aside.err) == (2, "the printer is off\nexhausted: the printer is off")
    print(f"after {aside.attempt} attempts in {aside.queue}: {aside.err!r}")

    # It is switched on, and the invoice moved back.
    again = aside.change(queue="invoices", attempt=0, err="")
    bob.modify(millpond.Modification().change(again))
    assert worker.drain(lambda job: print("printing", job.task.value)).done == 1
    assert bob.queues() == {}
    account = bob.get_doc("accounts", "7")
    assert account.content == {"balance": 70}
    bob.modify(millpond.Modification().delete_doc(account))
