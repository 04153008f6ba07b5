"""What a recruiter is for: work in the background with no process of its own. The pages of a site remove
expired carts and send mails, a little after each page.

python examples/python/recruiter.py [URL]
"""

import os
import sys
import time

import millpond

url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
with millpond.connect(url) as client:
    # Of its own for each run.
    carts = client.volatile_hashes(f"examples/carts/{os.getpid()}")
    for customer in range(100):
        carts.hash(f"customer {customer}").set("book", "1", ttl=0.001)
    outbox = [f"mail {number}" for number in range(20)]
    removed = 0
    failures = {}

    recruiter = client.recruiter(f"examples/site/{os.getpid()}")
    recruiter.set_duty_max(1)  # the pages of this program do nothing else
    # Without a job it is the server's error: it did not respond in time.
    recruiter.on_error(lambda job, error: failures.update({job: str(error)}))

    # 200 slices a second, in all processes of the site together. A slice takes up to 20 ms.
    @recruiter.job("reap", per_second=200, budget=0.02)
    def reap(slice):
        global removed
        count = 0
        while not slice.is_over:
            reaped = carts.reap(10)
            count += reaped.fields
            if not reaped.more:
                break
            slice.more()  # so that the job does not slow down
        removed += count
        return count  # 0 says that there was nothing to do: the job then runs less often

    # One page in two, by a lottery in the process.
    @recruiter.job("mail", share=0.5)
    def mail(slice):
        if not outbox:
            return False
        outbox.pop(0)  # send it
        return True

    # A job that fails, fails no page.
    @recruiter.job("report", share=0.1)
    def report(slice):
        raise OSError("no database")

    while removed < 100 or outbox or "report" not in failures:
        # A page is sent to its visitor here; then:
        duty = recruiter.enlist()
        assert not duty.recruited or duty.why == "worked"
        time.sleep(0.001)
    recruiter.stop()
    assert recruiter.enlist().why == "stopped"
    assert removed == 100 and failures["report"] == "no database"
    print("100 carts were removed and 20 mails sent, and no page failed")

    # What the processes have reported, a moment later.
    items = {}
    while (items.get("reap"), items.get("mail")) != (100, 20):
        items = {job.job: job.items for job in recruiter.stats().jobs}
        time.sleep(0.001)
