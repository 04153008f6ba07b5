"""Four languages on one queue: Ruby and PHP flag documents, Node and Python work on them.

python examples/polyglot/polyglot.py [URL]

Without a URL it starts a redis-server of its own, which ends with it. At the end it checks that
no document was lost and that none was worked on more often than it was flagged. The exit status
is 1 if something is wrong. `make polyglot` builds all four packages and runs this.
"""

import collections
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import millpond

OWN = 2_000  # documents that one producer alone flags
SHARED = 200  # documents that both flag
PATIENCE = 60  # seconds until all has to be done

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
COMMANDS = {
    "ruby": [os.environ.get("RUBY", "ruby"), "-I", ROOT / "ffi/ruby/lib", HERE / "producer.rb"],
    "php": [os.environ.get("PHP", "php"), HERE / "producer.php"],
    "node": [os.environ.get("NODE", "node"), HERE / "consumer.mjs"],
    "python": [sys.executable, HERE / "consumer.py"],
}
PRODUCERS, CONSUMERS = ("ruby", "php"), ("node", "python")


@contextlib.contextmanager
def server():
    """A redis-server on a Unix socket in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        socket = os.path.join(folder, "redis.sock")
        options = ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder]
        process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + PATIENCE
            while not os.path.exists(socket):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("redis-server did not start")
                time.sleep(0.01)
            yield f"redis+unix://{socket}"
        finally:
            process.terminate()
            ended(process)


class Consumer:
    """A consumer's process and the documents that it has printed."""

    def __init__(self, language, url):
        self.done = collections.Counter()
        command = [*COMMANDS[language], url]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.done[line.rstrip("\n")] += 1

    def stop(self):
        self.process.terminate()
        ended(self.process)
        self.reader.join(PATIENCE)


def ended(process):
    """Waits until a process ends; one that hangs is named and killed. Returns its status."""
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        command = " ".join(map(str, process.args))
        print(f"HANGS: {command} did not end within {PATIENCE} s", file=sys.stderr)
        return process.wait()


def main(url):
    with millpond.connect(url) as client:
        icks = [client.ick(f"polyglot/{number}") for number in range(4)]
        for ick in icks:
            ick.delete()
        consumers = {language: Consumer(language, url) for language in CONSUMERS}
        try:
            sizes = [str(OWN), str(SHARED)]
            producers = [
                subprocess.Popen([*COMMANDS[language], url, *sizes]) for language in PRODUCERS
            ]
            if any([ended(producer) for producer in producers]):
                raise SystemExit("a producer failed")
            deadline = time.monotonic() + PATIENCE
            while any(stats and stats.total_size for stats in (ick.stats() for ick in icks)):
                if time.monotonic() > deadline:
                    raise SystemExit("the work was not done in time")
                time.sleep(0.02)
        finally:
            for consumer in consumers.values():
                consumer.stop()
        for ick in icks:
            ick.delete()

    report(consumers)
    return check(sum((consumer.done for consumer in consumers.values()), collections.Counter()))


def report(consumers):
    print(f"{'flagged by':>10}  " + "  ".join(f"{name:>14}" for name in consumers))
    for producer in (*PRODUCERS, "both"):
        counts = [
            sum(n for name, n in consumer.done.items() if name.startswith(f"{producer}-"))
            for consumer in consumers.values()
        ]
        print(f"{producer:>10}  " + "  ".join(f"{count:>9} done" for count in counts))


def check(done):
    """Returns whether all was done, and nothing more often than it was flagged."""
    flags = {f"{producer}-{number}": 1 for producer in PRODUCERS for number in range(OWN)}
    flags |= {f"both-{number}": 2 for number in range(SHARED)}
    lost = [name for name in flags if not done[name]]
    too_often = [name for name, count in done.items() if count > flags.get(name, 0)]
    for what, names in (("lost", lost), ("done more often than flagged", too_often)):
        if names:
            print(f"{len(names)} {what}: {', '.join(names[:10])}")
    if not lost and not too_often:
        print(f"{len(flags)} documents: none was lost, none was done more often than it was flagged")
    return not lost and not too_often


if len(sys.argv) > 1:
    sys.exit(not main(sys.argv[1]))
with server() as own_url:
    sys.exit(not main(own_url))
