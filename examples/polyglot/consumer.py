"""Works on the documents in two of the four Icks, from Python. polyglot.py runs it.

Prints the documents of each batch before it is committed, one a line, and ends at SIGTERM.
"""

import signal
import sys

import millpond

signal.signal(signal.SIGTERM, lambda *_: sys.exit())

with millpond.connect(sys.argv[1]) as client:
    channel = client.ick_channel("polyglot", 4)
    with channel.batches([2, 3], 10, wait=60) as batches:
        for batch in batches:
            print("\n".join(member.decode() for member, score in batch), flush=True)
