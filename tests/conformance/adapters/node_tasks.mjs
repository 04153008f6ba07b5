// The calls of task stores; see node.mjs.

import { setTimeout as sleep } from 'node:timers/promises'

import { Doc, Move, Release, Retry, Task } from '../../../node/index.mjs'

/** A request as Node has it: what is labelled is a wrong argument. */
export function asSaid(value) {
  if (Array.isArray(value)) return value.map(asSaid)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const [[label, said]] = entries.length === 1 ? entries : [[]]
  if (label === 'float') return Number(said.replace('inf', 'Infinity'))
  if (label === 'int') return BigInt(said)
  if (label === 'string') return said
  return Object.fromEntries(entries.map(([name, part]) => [name, asSaid(part)]))
}

/** Not set: the package has a default of its own. */
function given(value) {
  return value ?? undefined
}

function lease(request) {
  return { leaseMs: given(request.lease_ms) }
}

function filter({ exact, prefixes, limit }) {
  return { exact: given(exact), prefixes: given(prefixes), limit: given(limit) }
}

/** A task or a document as a response has it, whose JSON text has this name. */
function shown(of, jsonName) {
  const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const entries = Object.entries(of).map(([name, value]) => [
    name === 'json' ? jsonName : snake(name),
    value
  ])
  return Object.fromEntries(entries)
}

function task(of) {
  return shown(of, 'value')
}

function doc(of) {
  return shown(of, 'content')
}

function modified({ inserted, changed, insertedDocs, changedDocs }) {
  return {
    inserted: inserted.map(task),
    changed: changed.map(task),
    inserted_docs: insertedDocs.map(doc),
    changed_docs: changedDocs.map(doc)
  }
}

/** The settings of an insert or a change. */
function settings(entry) {
  return {
    atMs: given(entry.at_ms),
    delayMs: given(entry.after_ms),
    attempt: given(entry.attempt),
    err: given(entry.err),
    // A text as it is; null removes the value.
    json: entry.no_value ? null : given(entry.value)
  }
}

function insert(entry) {
  return {
    queue: entry.queue,
    id: given(entry.id),
    priority: given(entry.priority),
    ttlMs: given(entry.ttl_ms),
    skipColliding: given(entry.skip_colliding),
    ...settings(entry)
  }
}

function change(entry) {
  const { id, version, queue, attempt, err, value } = entry.task
  const fields = { version, queue, attempt, err, json: value }
  const said = Object.entries(fields).filter(([, field]) => given(field) !== undefined)
  const changed = new Task({ id, ...Object.fromEntries(said) }).change()
  if (given(entry.retry) !== undefined) changed.retry(entry.retry)
  if (entry.retry_or_quarantine) changed.retryOrQuarantine(...entry.retry_or_quarantine)
  if (entry.quarantine) changed.quarantine(...entry.quarantine)
  const set = entry.set ?? {}
  return changed.set({ queue: given(set.queue), ...settings(set) })
}

function docPut(entry) {
  return {
    namespace: entry.namespace,
    key: entry.key,
    id: given(entry.id),
    secondaryKey: given(entry.secondary_key),
    json: given(entry.content)
  }
}

function docInsert(entry) {
  return { ...docPut(entry), skipColliding: given(entry.skip_colliding) }
}

function docChange(entry) {
  const set = entry.set ?? {}
  return new Doc(entry.doc).change({
    json: given(set.content),
    atMs: given(set.at_ms),
    delayMs: given(set.after_ms),
    release: given(set.release)
  })
}

function modification(request) {
  return {
    inserts: request.inserts?.map(insert),
    changes: request.changes?.map(change),
    deletes: given(request.deletes),
    depends: given(request.depends),
    docInserts: request.doc_inserts?.map(docInsert),
    docPuts: request.doc_puts?.map(docPut),
    docChanges: request.doc_changes?.map(docChange),
    docDeletes: given(request.doc_deletes),
    docDepends: given(request.doc_depends)
  }
}

function worker(store, request) {
  const [backoffMs, backoffMaxMs] = request.backoff_ms ?? []
  return store.worker(request.queues, {
    ...lease(request),
    waitMs: given(request.wait_ms),
    maxAttempts: given(request.max_attempts),
    maxClaims: given(request.max_claims),
    backoffMs,
    backoffMaxMs,
    errorQueue: given(request.error_queue)
  })
}

/** What a job does before it ends. */
async function meanwhile(job, said, docs, perform) {
  for (const [namespace, key] of said.claim_docs ?? []) {
    docs.push(...(await job.claimDocs(namespace, key, { waitMs: given(said.claim_wait_ms) })))
  }
  for (const request of said.run ?? []) await perform({ claimant: job.task.claimant, ...request })
  if (given(said.sleep_ms) !== undefined) await sleep(said.sleep_ms)
}

const ENDS = {
  done: (job) => job.done(),
  finish: (job, said) => job.finish(modification(said.modification)),
  retry: (job, said) => job.retry(given(said.err), { delayMs: given(said.after_ms) }),
  move: (job, said) => job.moveTo(said.queue, given(said.err)),
  release: (job, said) => job.release({ delayMs: given(said.after_ms) }),
  leave: (job) => job.leave()
}

/** The same as a handler says it. */
const OUTCOMES = {
  done: () => undefined,
  finish: (said) => modification(said.modification),
  retry(said) {
    throw new Retry(given(said.err), { delayMs: given(said.after_ms) })
  },
  move(said) {
    throw new Move(said.queue, given(said.err))
  },
  release(said) {
    throw new Release('', { delayMs: given(said.after_ms) })
  },
  fail(said) {
    throw new Error(said.err)
  }
}

/** The calls; `perform` makes another request, and `attempt` makes a response of a call. */
export function taskCalls({ perform, attempt, Unsupported }) {
  /** How a job ends, by its name. */
  function endOf(ends, { then }) {
    if (then in ends) return ends[then]
    throw new Unsupported(`the end ${then}`)
  }

  /** Takes jobs, and does with each as the request says. */
  async function work(store, request) {
    const jobs = worker(store, request).jobs()
    const seen = []
    for (const said of request.jobs) {
      const { value: job, done } = await jobs.next()
      if (done) break
      const docs = []
      let isLost = false
      const finished = await attempt(async () => {
        await meanwhile(job, said, docs, perform)
        isLost = job.isLost
        const ended = await endOf(ENDS, said)(job, said)
        return said.then === 'finish' ? modified(ended) : null
      })
      job.leave()
      seen.push({ task: task(job.task), docs: docs.map(doc), is_lost: isLost, answer: finished })
    }
    await jobs.return()
    return seen
  }

  /** The same by a handler. */
  async function run(store, request) {
    const jobs = request.jobs.values()
    const seen = []
    const onError = (_, error) => {
      seen.at(-1).told = error.code
    }
    await worker(store, request).run(async (job) => {
      const { value: said, done } = jobs.next()
      if (done) throw new Retry('no such job')
      const docs = []
      let isLost = false
      let failure
      const before = await attempt(async () => {
        try {
          await meanwhile(job, said, docs, perform)
        } catch (error) {
          failure = error
          throw error
        }
        isLost = job.isLost
        return null
      })
      const one = { task: task(job.task), docs: docs.map(doc), is_lost: isLost, answer: before }
      seen.push({ ...one, told: null })
      if (failure !== undefined) throw failure
      return endOf(OUTCOMES, said)(said)
    }, { onError })
    return seen
  }

  return {
    work,
    run,
    insert: async (store, request) =>
      task(await store.insert(request.queue, undefined, { json: request.value })),
    modify: async (store, request) => modified(await store.modify(modification(request))),
    async claim(store, request) {
      const claimed = await store.claim(request.queues, lease(request))
      return claimed && task(claimed)
    },
    async claim_many(store, request) {
      return (await store.claimMany(request.queues, request.max, lease(request))).map(task)
    },
    async claims(store, request) {
      const options = { max: given(request.max), waitMs: given(request.wait_ms), ...lease(request) }
      for await (const tasks of store.claims(request.queues, options)) return tasks.map(task)
      return []
    },
    async renew(store, request) {
      const held = { tasks: given(request.tasks), docs: given(request.docs) }
      const { atMs, ...renewed } = await store.renew(held, lease(request))
      return { ...renewed, at_ms: atMs }
    },
    fetch: async (store, request) => (await store.fetch(request.ids)).map(task),
    async list(store, request) {
      const page = await store.list(request.queue, {
        after: request.after ? { atMs: request.after.at_ms, id: request.after.id } : undefined,
        limit: given(request.limit),
        claimant: given(request.only_claimant),
        omitValues: given(request.omit_values)
      })
      const next = page.next && { at_ms: page.next.atMs, id: page.next.id }
      return { tasks: page.tasks.map(task), next }
    },
    queues: async (store, request) => [...(await store.queues(filter(request)))],
    are_empty: (store, request) => store.areEmpty(filter(request)),
    async queue_stats(store, request) {
      const stats = await store.queueStats(filter(request))
      return stats.map(({ maxClaims, ...counts }) => ({ ...counts, max_claims: maxClaims }))
    },
    async claim_docs(store, request) {
      return (await store.claimDocs(request.namespace, request.key, lease(request))).map(doc)
    },
    async get_doc(store, request) {
      const options = { secondaryKey: given(request.secondary_key) }
      const found = await store.getDoc(request.namespace, request.key, options)
      return found && doc(found)
    },
    async put_doc(store, request) {
      const { namespace, key, ...options } = docPut(request.doc)
      return doc(await store.putDoc(namespace, key, undefined, options))
    },
    async fetch_docs(store, request) {
      return (await store.fetchDocs(request.namespace, request.ids)).map(doc)
    },
    async list_docs(store, request) {
      const { key, secondary_key: secondaryKey, id } = request.after ?? {}
      const page = await store.listDocs(request.namespace, {
        start: given(request.start),
        end: given(request.end),
        after: request.after ? { key, secondaryKey, id } : undefined,
        limit: given(request.limit),
        omitContents: given(request.omit_contents)
      })
      const { next } = page
      return {
        docs: page.docs.map(doc),
        next: next && { key: next.key, secondary_key: next.secondaryKey, id: next.id }
      }
    },
    namespace_stats: (store, request) => store.namespaceStats(filter(request)),
    time: (store) => store.time()
  }
}

/** What a modification met, as a response has it. */
export function dependency(error) {
  const found = {}
  for (const name of ['inserts', 'changes', 'deletes', 'depends', 'claims']) {
    found[name] = error[name].map(({ id, version }) => [id, version])
    const docs = error[`doc${name[0].toUpperCase()}${name.slice(1)}`]
    found[`doc_${name}`] = docs.map(({ namespace, id, version }) => [namespace, id, version])
  }
  return found
}
