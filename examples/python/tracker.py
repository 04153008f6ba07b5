"""What a queue tracker is for: a page asks which customers have work queued, and the work is in a
database, where nobody could ask that quickly. The pages themselves keep the tracker up to date, in
small slices.

python examples/python/tracker.py [URL]
"""

import os
import sqlite3
import sys
import time

import millpond

url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
database = sqlite3.connect(":memory:")
database.execute("create table work(number integer primary key, customer text not null)")
for number in range(100):
    database.execute("insert into work(customer) values (?)", [f"customer {number % 10}"])

with millpond.connect(url, decode_responses=True) as client:
    # Of its own for each run.
    tracker = client.queue_tracker(f"examples/customers/{os.getpid()}")
    recruiter = client.recruiter(f"examples/shop/{os.getpid()}")
    recruiter.set_duty_max(1)  # the pages of this program do nothing else

    def rows(after, limit):
        query = "select number, customer from work where number > ? order by number limit ?"
        return database.execute(query, (after or 0, limit))

    def done(ids):
        marks = ", ".join("?" * len(ids))
        query = f"select distinct customer from work where customer in ({marks})"
        return set(ids) - {customer for (customer,) in database.execute(query, ids)}

    # One scan and one prune at a time, in all processes of the shop together.
    @recruiter.job("scan", per_second=200, max_running=1)
    def scan(slice):
        scanned = tracker.scan(rows)
        if scanned.more:
            slice.more()  # so that the job does not slow down
        return scanned.rows

    @recruiter.job("prune", per_second=200, max_running=1)
    def prune(slice):
        pruned = tracker.prune(done)
        if pruned.removed:
            slice.more()
        return pruned.removed

    def enlist_until(*expected):
        customers = [f"customer {number}" for number in range(11)]
        while tracker.are_queued(customers) != [number in expected for number in range(11)]:
            # A page is sent to its visitor here; then:
            recruiter.enlist()
            time.sleep(0.001)

    enlist_until(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)

    # The work of four customers is done, and there is work for another one: its row first, and
    # then its id.
    for number in (1, 3, 5, 7):
        database.execute("delete from work where customer = ?", [f"customer {number}"])
    database.execute("insert into work(customer) values ('customer 10')")
    tracker.add(["customer 10"])
    assert tracker.is_queued("customer 10")
    enlist_until(0, 2, 4, 6, 8, 9, 10)
    assert tracker.len() == 7
    recruiter.stop()
    print("7 of 11 customers have work queued, as the database says")
