"""The adapter for Python: the calls of task stores."""

import inspect

import millpond
from python_values import Unsupported, finished, first, labelled, settled

LABELS = ({"b64"}, {"float"}, {"int"}, {"string"})
# The fields of both, as the package has them.
TASK = [name for name in inspect.signature(millpond.Task).parameters if name not in ("value", "json")]
DOC = [name for name in inspect.signature(millpond.Doc).parameters if name not in ("content", "json")]
TASK_LISTS = ("inserts", "changes", "deletes", "depends", "claims")
DOC_LISTS = tuple(f"doc_{name}" for name in TASK_LISTS)
FILTER = ("exact", "prefixes", "limit")
PLACE = ("key", "secondary_key", "id")


def told(value):
    """A value of a request, in which strings are text."""
    if isinstance(value, list):
        return [told(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) in LABELS:
        return labelled(value)
    return {name: told(item) for name, item in value.items()}


def seconds(ms):
    """Milliseconds as the package takes them; a wrong argument as it is."""
    is_number = isinstance(ms, (int, float)) and not isinstance(ms, bool)
    return ms / 1000 if is_number else ms


def given(fields, plain=(), times=(), **renamed):
    """What of these there is, as keywords: times, which end in _ms, in seconds; others renamed."""
    found = {name: fields[name] for name in plain if fields.get(name) is not None}
    for name, argument in renamed.items():
        if fields.get(name) is not None:
            found[argument] = fields[name]
    for name in times:
        if fields.get(f"{name}_ms") is not None:
            found[name] = seconds(fields[f"{name}_ms"])
    return found


def after(fields):
    """The delay of an entry, if it has one."""
    return {} if fields.get("after_ms") is None else {"delay": seconds(fields["after_ms"])}


def task_of(fields):
    """The record of a task, of all its fields or a few."""
    found = given(fields, TASK[2:], value="json")
    return millpond.Task(fields["id"], fields["version"], **found)


def change_of(entry):
    """The change of a task, and the end of it, in the protocol's order."""
    change = task_of(entry["task"]).change()
    if entry.get("retry") is not None:
        change = change.retry(entry["retry"])
    if entry.get("retry_or_quarantine") is not None:
        change = change.retry_or_quarantine(*entry["retry_or_quarantine"])
    if entry.get("quarantine") is not None:
        change = change.quarantine(*entry["quarantine"])
    settings = entry.get("set") or {}
    found = given(settings, ("queue", "at_ms", "attempt", "err"), value="json")
    if settings.get("no_value"):
        found["json"] = None
    return change.replace(**found, **after(settings))


def doc_change_of(entry):
    """The change of a document."""
    settings = entry.get("set") or {}
    found = given(settings, ("at_ms", "release"), content="json")
    return millpond.Doc(*doc_handle(entry["doc"])).change(**found, **after(settings))


def handle(fields):
    """A task at a version."""
    return fields["id"], fields["version"]


def doc_handle(fields):
    """A document at a version."""
    return fields["namespace"], fields["id"], fields["version"]


def put_doc(entry):
    """What puts a document: arguments and keywords."""
    keywords = given(entry, ("id", "secondary_key"), content="json")
    return (entry["namespace"], entry["key"]), keywords


def modification(lists):
    """The modification of a request."""
    gathered = millpond.Modification()
    for entry in lists.get("inserts") or ():
        plain = ("id", "at_ms", "attempt", "err", "priority", "skip_colliding")
        found = given(entry, plain, ("ttl",), value="json")
        gathered.insert(entry["queue"], **found, **after(entry))
    for entry in lists.get("changes") or ():
        gathered.change(change_of(entry))
    for entry in lists.get("deletes") or ():
        gathered.delete(handle(entry))
    for entry in lists.get("depends") or ():
        gathered.depend(handle(entry))
    for entry in lists.get("doc_inserts") or ():
        found = given(entry, ("id", "secondary_key", "skip_colliding"), content="json")
        gathered.insert_doc(entry["namespace"], entry["key"], **found)
    for entry in lists.get("doc_puts") or ():
        places, keywords = put_doc(entry)
        gathered.put_doc(*places, **keywords)
    for entry in lists.get("doc_changes") or ():
        gathered.change_doc(doc_change_of(entry))
    for entry in lists.get("doc_deletes") or ():
        gathered.delete_doc(doc_handle(entry))
    for entry in lists.get("doc_depends") or ():
        gathered.depend_doc(doc_handle(entry))
    return gathered


def shown(value):
    """A result of the package as JSON has it."""
    if isinstance(value, millpond.Task):
        return {**{name: getattr(value, name) for name in TASK}, "value": value.json}
    if isinstance(value, millpond.Doc):
        return {**{name: getattr(value, name) for name in DOC}, "content": value.json}
    if hasattr(value, "_asdict"):
        return {name: shown(item) for name, item in value._asdict().items()}
    if isinstance(value, list):
        return [shown(item) for item in value]
    return value


def dependency(error):
    """All that is not as a modification says."""
    tasks = {name: [list(one) for one in getattr(error, name)] for name in TASK_LISTS}
    return {**tasks, **{name: [list(one) for one in getattr(error, name)] for name in DOC_LISTS}}


class Tasks:
    """The calls of task stores on the client of a session."""

    def __init__(self, session):
        self.session = session

    async def result(self, request):
        """Makes the call of one request to a task store."""
        request = told(request)
        call = request["call"].removeprefix("tasks_")
        store = self.session.client.tasks(request["store"], **given(request, ("claimant",)))
        if call in ("work", "run"):
            return await getattr(self, call)(store, request)
        return shown(await settled(self.called(call, store, request)))

    def called(self, call, store, request):
        """Makes a call that has a method of its own."""
        lease = given(request, (), ("lease",))
        if call == "insert":
            return store.insert(request["queue"], **given(request, value="json"))
        if call == "modify":
            return store.modify(modification(request))
        if call == "claim":
            return store.claim(request["queues"], **lease)
        if call == "claim_many":
            return store.claim_many(request["queues"], request["max"], **lease)
        if call == "claims":
            loop = store.claims(request["queues"], **lease, **given(request, ("max",), ("wait",)))
            return batch(loop)
        if call == "renew":
            tasks = [handle(task) for task in request.get("tasks") or ()]
            docs = [doc_handle(doc) for doc in request.get("docs") or ()]
            return store.renew(tasks, docs, **lease)
        if call == "fetch":
            return store.fetch(request["ids"])
        if call == "list":
            found = given(request, ("limit", "omit_values"), only_claimant="claimant")
            if request.get("after") is not None:
                found["after"] = request["after"]["at_ms"], request["after"]["id"]
            return store.list(request["queue"], **found)
        if call == "queues":
            return sizes(store.queues(**given(request, FILTER)))
        if call == "are_empty":
            return store.are_empty(**given(request, FILTER[:2]))
        if call == "queue_stats":
            return store.queue_stats(**given(request, FILTER))
        if call == "claim_docs":
            return store.claim_docs(request["namespace"], request["key"], **lease)
        if call == "get_doc":
            found = given(request, ("secondary_key",))
            return store.get_doc(request["namespace"], request["key"], **found)
        if call == "put_doc":
            places, keywords = put_doc(request["doc"])
            return store.put_doc(*places, **keywords)
        if call == "fetch_docs":
            return store.fetch_docs(request["namespace"], request["ids"])
        if call == "list_docs":
            found = given(request, ("start", "end", "limit", "omit_contents"))
            if request.get("after") is not None:
                found["after"] = tuple(request["after"][name] for name in PLACE)
            return store.list_docs(request["namespace"], **found)
        if call == "namespace_stats":
            return store.namespace_stats(**given(request, FILTER))
        if call == "time":
            return store.time()
        raise Unsupported(f"the call {request['call']} is not known")

    def worker(self, store, request):
        """The worker of a request, with the settings that it names."""
        found = given(request, ("max_attempts", "max_claims", "error_queue"), ("lease", "wait"))
        if request.get("backoff_ms") is not None:
            found["backoff"], found["backoff_max"] = map(seconds, request["backoff_ms"])
        return store.worker(request["queues"], **found)

    async def work(self, store, request):
        """Takes jobs, and does with each as the request says."""
        jobs = self.worker(store, request).jobs()
        seen = []
        for said in request["jobs"]:
            job = await first(jobs)
            if job is None:
                break
            one = {"task": shown(job.task), "docs": [], "is_lost": False}

            async def done(job=job, said=said, one=one):
                await self.meanwhile(job, said, one)
                return await ended(job, said)

            one["answer"] = await self.session.attempt(done())
            seen.append(one)
        return seen

    async def run(self, store, request):
        """The same by a handler."""
        left, seen = iter(request["jobs"]), []

        async def handler(job):
            said = next(left, None)
            if said is None:
                raise RuntimeError("no such job")
            one = {"task": shown(job.task), "docs": [], "is_lost": False}
            seen.append(one)
            one["told"] = None
            try:
                await self.meanwhile(job, said, one)
            except Exception as error:
                one["answer"] = await self.session.attempt(raised(error))
                raise
            one["answer"] = {"result": None}
            return handled(said)

        def on_error(job, error):
            seen[-1]["told"] = error.name

        worker = self.worker(store, request)
        if self.session.is_async:
            await worker.run(handler, on_error)
        else:
            worker.run(lambda job: finished(handler(job)), on_error)
        return seen

    async def meanwhile(self, job, said, one):
        """What a job does before it ends."""
        wait = given(said, (), ("claim_wait",))
        for namespace, key in said.get("claim_docs") or ():
            found = job.claim_docs(namespace, key, wait=wait.get("claim_wait"))
            one["docs"] += shown(await settled(found))
        for request in said.get("run") or ():
            # What comes of it shows in the job.
            await self.session.respond({"claimant": job.task.claimant, **request})
        if said.get("sleep_ms") is not None:
            await settled(self.session.sleep(seconds(said["sleep_ms"])))
        one["is_lost"] = job.is_lost


async def batch(loop):
    """The first batch of a loop, which is left then."""
    return await first(loop) or []


async def sizes(found):
    """The sizes of queues."""
    return [[queue, size] for queue, size in (await settled(found)).items()]


async def ended(job, said):
    """Ends a job."""
    then, err = said["then"], said.get("err") or ""
    if then == "done":
        await settled(job.done())
    elif then == "finish":
        return shown(await settled(job.finish(modification(said["modification"]))))
    elif then == "retry":
        await settled(job.retry(err, **after(said)))
    elif then == "move":
        await settled(job.move_to(said["queue"], err))
    elif then == "release":
        await settled(job.release(**after(said)))
    elif then != "leave":
        raise Unsupported(f"the end {then} is not known")
    return None


async def raised(error):
    """The response for an error."""
    raise error


def handled(said):
    """What a handler returns or raises."""
    then, err = said["then"], said.get("err") or ""
    if then == "done":
        return None
    if then == "finish":
        return modification(said["modification"])
    if then == "retry":
        raise millpond.Retry(err, **after(said))
    if then == "move":
        raise millpond.Move(said["queue"], err)
    if then == "release":
        raise millpond.Release(**after(said))
    if then == "fail":
        raise RuntimeError(err)
    raise Unsupported(f"the end {then} is not known")
