"""What events are for: things that happen at their time, in order for each customer, until somebody has
done them.

python examples/python/events.py [URL]
"""

import os
import sys

import millpond

DAY = 24 * 60 * 60

url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
with millpond.connect(url) as client:
    # A queue of its own for each run.
    queue = client.events(f"examples/shop/{os.getpid()}")

    # A cart is left: a reminder tomorrow, once, however often the page says so.
    first = queue.publish("remind ann", delay=DAY, dedup_id="cart-of-ann")
    again = queue.publish("remind ann", delay=DAY, dedup_id="cart-of-ann")
    assert (again.status, again.id) == ("duplicate", first.id)

    # She looks at it again: a day later. She buys: no reminder.
    assert queue.reschedule(first, delay=2 * DAY) == ["rescheduled"]
    assert queue.cancel(first) == ["removed"]

    # What happens to one order happens in order; other orders do not wait for it.
    paid = [millpond.NewEvent(f"order {order} is paid", key=f"order-{order}") for order in (7, 8)]
    queue.publish_many([*paid, millpond.NewEvent("order 7 is sent", key="order-7")])
    events = queue.receive(10)
    assert [event.payload for event in events] == [b"order 7 is paid", b"order 8 is paid"]

    # The printer is out of paper: this one comes again at once, and before what follows in its order.
    queue.nack(events[0], "out of paper", after=0)
    queue.ack(events[1])
    for text in (b"order 7 is paid", b"order 7 is sent"):
        (event,) = queue.receive(10)
        assert event.payload == text
        print(f"{text.decode()} (attempt {event.attempts})")
        queue.ack(event)
    assert queue.stats().events == 0
    queue.delete()
