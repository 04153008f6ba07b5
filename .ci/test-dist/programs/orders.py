"""python orders.py URL produce|work|count [NUMBER]: orders that become invoices, as in the other languages' programs."""

import sys
import time

import millpond


def bill(job):
    time.sleep(0.02)
    sys.stdout.write(f"{job.task.value['number']}\n")  # print makes two writes, and two threads work here
    sys.stdout.flush()
    return job.delete().insert("invoices", job.task.value)


url, role, number = [*sys.argv[1:], "0"][:3]
with millpond.connect(url) as client:
    store = client.tasks("shop")
    if role == "produce":
        for order in range(int(number)):
            store.insert("orders", {"number": order})
    elif role == "work":
        store.worker("orders", concurrency=2, lease=1).run(bill)
        print("stopped")
    else:
        if url == "memory:":
            for order in range(3):
                store.insert("orders", {"number": order})
            store.worker("orders").drain(bill)
        queues = store.queues()
        print(queues.get("orders", 0), "orders,", queues.get("invoices", 0), "invoices")
