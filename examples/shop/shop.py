"""A shop in four languages on one Redis, whose processes and server are killed at random.

python examples/shop/shop.py [SECONDS [SEED]]

Customers order in one of the four shops. They repeat an order until it is accepted, and at random
once more. For SECONDS, 20 by default, the processes of the shops and the redis-server are killed
and started again, while an operator pauses, resumes and reshards. Then every accepted order has to
be charged once and to have one invoice, and the events of each customer have to be there once and
in order. The exit status is 1 if something is wrong. `make shop` builds all four packages and runs
this.
"""

import collections
import concurrent.futures
import contextlib
import http.client
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import redis

import millpond

CUSTOMERS = ("ann", "bob", "cy", "dee", "eve", "fay")
BUYERS = 4  # threads that order for any customer
OPENING = 1_000_000  # the first balance of an account
PATIENCE = 120  # seconds until a process has started or ended, and between two steps of progress

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
PHP = os.environ.get("PHP", "php")
PAGES = {
    "python": [sys.executable, HERE / "web.py"],
    "node": [os.environ.get("NODE", "node"), HERE / "web.mjs"],
    "ruby": [os.environ.get("PUMA", "puma"), "-I", ROOT / "ffi/ruby/lib", "-C", HERE / "web.rb"],
    "php": [PHP, "-d", "ffi.enable=1", "-S", "127.0.0.1:{port}", HERE / "web.php"],
}
# The workers of the other languages are in the processes of their pages.
QUEUES = ("charges", "invoices", "news")
WORKERS = {f"php-{queue}": [PHP, HERE / "web.php", queue] for queue in QUEUES}
# How Ruby before 3.3 can crash when all is done, if a thread that called the gem ffi ends last:
# https://bugs.ruby-lang.org/issues/19580
RUBY_CRASH = "- Goodbye!\n[BUG] Segmentation fault at 0x0000000000000450\n"
# Below the ports of connections and those of the test suites' servers.
PORTS = iter(random.sample(range(10_000, 12_000), 2_000))


class Server:
    """A redis-server that loses nothing when it is killed."""

    def __init__(self, folder):
        self.folder, self.port, self.starts, self.process = folder, free_port(), 0, None
        self.url = f"redis://127.0.0.1:{self.port}"

    def start(self):
        self.starts += 1
        path = self.folder / f"redis-{self.starts}.log"
        command = ["redis-server", "--port", str(self.port), "--dir", self.folder, "--save", ""]
        command += ["--appendonly", "yes", "--appendfsync", "always"]
        with path.open("w") as log:
            self.process = subprocess.Popen(command, stdout=log)
        with redis.Redis(port=self.port) as client:
            until(lambda: replies(client), f"redis-server replies, see {path}")
            # The next start could apply half a step otherwise: README.md, "What it guarantees".
            if "short read while loading the AOF" in path.read_text():
                client.bgrewriteaof()
                until(lambda: not rewrites(client), "the AOF is written anew")

    def end(self, number):
        self.process.send_signal(number)
        ended(self.process)


class Program:
    """A page or a worker, which is started again and again."""

    def __init__(self, name, command, server):
        self.name, self.server, self.starts, self.process = name, server, 0, None
        self.port = free_port() if name in PAGES else None
        self.command = [str(word).format(port=self.port) for word in command]
        # PHP's own web server ends after its page at SIGINT, and in the middle of it at SIGTERM.
        self.stop_signal = signal.SIGINT if name == "php" else signal.SIGTERM

    def start(self):
        self.starts += 1
        self.log = self.server.folder / f"{self.name}-{self.starts}.log"
        env = {**os.environ, "REDIS_URL": self.server.url, "PORT": str(self.port)}
        with self.log.open("w") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, env=env)
        until(self.is_ready, f"{self.name} is ready, see {self.log}")

    def is_ready(self):
        if self.process.poll() is not None:
            self.ends()
        if self.port is None:
            return "ready\n" in self.log.read_text()
        return self.request("GET", "/") is not None

    def request(self, method, path, body=None):
        """The status of the reply, or None if there is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            try:
                connection.request(method, path, body, {"Content-Type": "application/json"})
                return connection.getresponse().status
            except (OSError, http.client.HTTPException):
                return None

    def kill(self):
        self.process.kill()
        self.ends(-signal.SIGKILL)

    def stop(self):
        self.process.send_signal(self.stop_signal)
        self.ends(0)

    def ends(self, right=None):
        status = ended(self.process)
        if status == -signal.SIGABRT and RUBY_CRASH in self.log.read_text():
            status = 0
        if status != right:
            raise SystemExit(f"{self.name} ended with {status}, see {self.log}")


class Shop:
    """What happens to the programs and the server, and what customers were promised."""

    def __init__(self, server, programs, seed):
        self.server, self.programs, self.seed = server, programs, seed
        self.pages = [program for program in programs if program.port]
        self.over = threading.Event()
        self.counts = collections.Counter()
        self.accepted = {}  # the orders, by their ids

    def choices(self, name):
        return random.Random(f"{self.seed} {name}")

    def disturb(self, store, news, seconds):
        """Lets customers order among kills, for some time or until something goes wrong."""
        with concurrent.futures.ThreadPoolExecutor(max_workers=100) as pool:
            runs = [pool.submit(self.kill_program, program) for program in self.programs]
            runs += [pool.submit(self.buy, buyer) for buyer in range(BUYERS)]
            runs += [pool.submit(self.kill_server), pool.submit(self.pause, store, news)]
            runs += [pool.submit(self.reshard, news, seconds / 2)]
            try:
                concurrent.futures.wait(runs, seconds, concurrent.futures.FIRST_EXCEPTION)
            finally:
                self.over.set()
        for run in runs:
            run.result()

    def kill_program(self, program):
        choices = self.choices(program.name)
        while not self.over.wait(choices.uniform(1, 4)):
            choices.choice((program.kill, program.stop))()
            self.counts["kills"] += 1
            program.start()

    def kill_server(self):
        choices = self.choices("server")
        while not self.over.wait(choices.uniform(2, 6)):
            self.server.end(choices.choice((signal.SIGKILL, signal.SIGTERM)))
            self.counts["restarts"] += 1
            self.over.wait(choices.uniform(0, 2))
            self.server.start()

    def pause(self, store, news):
        choices = self.choices("operator")
        while not self.over.wait(choices.uniform(0, 2)):
            handle, *queue = choices.choice(((store, "charges"), (store, "invoices"), (news,)))
            insist(handle.pause, *queue)
            self.over.wait(choices.uniform(0, 1))
            insist(handle.resume, *queue)

    def reshard(self, news, delay):
        self.over.wait(delay)
        insist(news.reshard, 4)

    def buy(self, buyer):
        choices = self.choices(f"buyer {buyer}")
        for number in itertools.count():
            if self.over.wait(choices.uniform(0, 0.1)):
                break
            order = new_order(f"{buyer}-{number}", choices)
            self.order(order, self.pages, choices)
            while choices.random() < 0.2:  # as if the reply was lost
                self.order(order, self.pages, choices)

    def buy_at_the_end(self):
        """In each page a new order, and some that were done long ago."""
        choices = self.choices("end")
        for page in self.pages:
            self.order(new_order(f"end-{page.name}", choices), [page], choices)
            for name in choices.choices(sorted(self.accepted), k=5):
                self.order(self.accepted[name], [page], choices)

    def order(self, order, pages, choices):
        """Orders in one of the pages, again until the order is accepted."""

        def is_accepted():
            page = choices.choice(pages)
            status = page.request("POST", "/orders", json.dumps(order))
            if status not in (202, 503, None):
                raise SystemExit(f"{page.name} replied {status} to {order}, see {page.log}")
            return status == 202

        until(is_accepted, f"{order} is accepted")
        self.accepted[order["id"]] = order

    def problems(self, store, news):
        for queue, size in store.queues().items():
            yield f"{size} tasks in {queue}, such as {store.list(queue, limit=1).tasks[0]}"
        for event in news.list("dead").events:
            yield f"dead letter {event}"
        invoices = {doc.key: doc for doc in documents(store, "invoices")}
        for order in self.accepted.keys() ^ invoices.keys():
            is_lost = order in self.accepted
            yield f"order {order} has no invoice" if is_lost else f"no order has invoice {order}"
        for order, doc in invoices.items():
            if doc.version > 0:
                yield f"order {order} has {doc.version + 1} invoices"
        for customer in CUSTOMERS:
            account = store.get_doc("accounts", customer).content
            orders = [order for order in self.accepted.values() if order["customer"] == customer]
            amounts = [order["amount"] for order in orders]
            if account != {"balance": OPENING - sum(amounts), "charges": len(amounts)}:
                yield f"{customer} ordered {len(amounts)} for {sum(amounts)}, and has {account}"
            contents = (doc.content for doc in invoices.values())
            charges = [invoice for invoice in contents if invoice["customer"] == customer]
            charges.sort(key=lambda invoice: invoice["number"])
            notes = store.get_doc("news", customer).content
            yield from problems_of_events(charges, [note.split()[1] for note in notes])


def new_order(name, choices):
    return {"id": name, "customer": choices.choice(CUSTOMERS), "amount": choices.randint(1, 99)}


def problems_of_events(charges, events):
    """Compares the order of a customer's events with that of the charges. An event that was
    published by an earlier attempt of its charge may be there earlier, but not later.
    """
    for order, count in collections.Counter(events).items():
        if count > 1:
            yield f"order {order} has {count} events"
    places = {order: place for place, order in enumerate(events)}
    last = -1
    for invoice in charges:
        order = invoice["order"]
        place = places.pop(order, None)
        if place is None:
            yield f"order {order} has no event"
            continue
        if invoice["event"] == "created" and place < last:
            yield f"order {order} has its event before {events[last]}, which was charged earlier"
        last = max(last, place)
    for order in places:
        yield f"order {order} has an event and no invoice"


def documents(store, namespace):
    page = None
    while page is None or page.next:
        page = store.list_docs(namespace, after=page and page.next)
        yield from page.docs


def until_done(store, news):
    """Waits until all is charged, invoiced and told, as long as there is progress."""

    def rest():
        queues, stats = store.queues(), news.stats()
        tasks = queues.get("charges", 0), queues.get("invoices", 0)
        return *tasks, stats.events - stats.dead

    before = rest()
    while any(before):
        what = f"one of {before} charges, invoices and events is done"
        until(lambda before=before: rest() != before, what)
        before = rest()


def until(condition, what):
    """Waits until a condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"HANGS: it was not true within {PATIENCE} s that {what}")
        time.sleep(0.02)


def insist(call, *arguments):
    """Repeats a call while the server is away."""

    def succeeds():
        try:
            call(*arguments)
        except millpond.MillpondError as error:
            if error.retry == "never":
                raise
            return False
        return True

    until(succeeds, f"{call.__name__} succeeds")


def replies(client):
    with contextlib.suppress(redis.ConnectionError):  # also while it loads
        return client.ping()


def rewrites(client):
    info = client.info("persistence")
    return info["aof_rewrite_in_progress"] or info["aof_rewrite_scheduled"]


def ended(process):
    """Waits until a process ends; one that hangs is named and killed. Returns its status."""
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        print(
            f"HANGS: {' '.join(map(str, process.args))} did not end within {PATIENCE} s",
            file=sys.stderr,
        )
        return process.wait()


def free_port():
    for port in PORTS:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def run(server, programs, seconds, seed):
    """Returns what is wrong."""
    server.start()
    with millpond.connect(server.url) as client:
        store, news = client.tasks("shop"), client.events("shop/news")
        opening = millpond.Modification()
        for customer in CUSTOMERS:
            opening.insert_doc("accounts", customer, {"balance": OPENING, "charges": 0})
            opening.insert_doc("news", customer, [])
        store.modify(opening)
        news.configure(lease=5, max_crashes=10)  # as the workers of the tasks
        for program in programs:
            program.start()
        shop = Shop(server, programs, seed)
        shop.disturb(store, news, seconds)
        until_done(store, news)
        shop.buy_at_the_end()
        until_done(store, news)
        for program in programs:
            program.stop()
        problems = list(shop.problems(store, news))
    if not problems:
        counts = (
            f"{len(shop.accepted)} orders, {shop.counts['kills']} kills, {shop.counts['restarts']}"
        )
        print(f"{counts} restarts of the server: nothing lost, nothing charged twice")
    return problems


def main(seconds="20", seed=None):
    seed = seed or str(random.randrange(10**6))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="millpond-shop-"))
    print(f"seed {seed}, logs in {folder}", flush=True)
    server = Server(folder)
    programs = [Program(name, command, server) for name, command in (PAGES | WORKERS).items()]
    try:
        problems = run(server, programs, float(seconds), seed)
    finally:
        for process in (one.process for one in (*programs, server) if one.process):
            process.kill()
    if problems:
        print(*problems, sep="\n")
    else:
        shutil.rmtree(folder)
    return not problems


sys.exit(not main(*sys.argv[1:]))
