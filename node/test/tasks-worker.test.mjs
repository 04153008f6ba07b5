// Workers of task stores and their jobs, on every backend; what they share with other workers is in running.test.mjs.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { runInNewContext } from 'node:vm'

import { connect, DeadLetterError, LeaseLostError, Move, Reject, Release, Retry } from 'millpond'

import { collect, NEVER_POLLING, onEveryBackend, renewals, RENEWING, until } from './support.mjs'

const NOTHING = { done: 0, retried: 0, dead: 0, others: 0 }

/** What is in a queue: values, attempts and errors. */
async function held(store, queue) {
  const { tasks } = await store.list(queue)
  return tasks.map(({ value, attempt, err }) => [value, attempt, err]).sort()
}

/** Inserts tasks with these values. */
async function insert(store, queue, ...values) {
  await store.modify({ inserts: values.map((value) => ({ queue, value })) })
}

class Outgoing {
  inserts = [{ queue: 'out', value: 'of a class' }]
}

onEveryBackend('what becomes of a task', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  const outcomes = {
    nothing: () => undefined,
    null: () => null,
    delete: (job) => ({ ...job.delete(), inserts: [{ queue: 'out', value: 'next' }] }),
    changes: (job) => ({ changes: [job.task.change({ queue: 'out', value: 'moved' })] }),
    retry() {
      throw new Retry('again', { delayMs: 60_000, cause: new RangeError() })
    },
    move() {
      throw new Move('aside', 'for good')
    },
    error() {
      throw new RangeError('of the application')
    },
    value() {
      throw { code: 7 }
    },
    half() {
      throw new Error('\ud800')
    },
    async rejects() {
      await sleep(1)
      throw new TypeError('later')
    },
    timeout() {
      throw new DOMException('took too long', 'TimeoutError')
    },
    reject() {
      throw new Reject('never', { cause: new RangeError() })
    },
    returned: () => new Retry('returned'),
    *generator() {},
    change: (job) => job.task.change({ queue: 'out' }),
    changed: (job) => [job.task.change({ queue: 'out' })],
    unknown: (job) => ({ ...job.delete(), insert: [] }),
    beside: (job) => ({ deletes: [job.handle], rows: 5 }),
    realm: () => runInNewContext('({ Insert: [] })'),
    other: () => ({ changes: [] }),
    instance: () => new Outgoing(),
    empty: () => ({}),
    date: () => new Date(),
    counted: () => ({ changes: 1, lastInsertRowid: 7 }),
    count: async () => 7,
    own: (job) => job.moveTo('own', 'by the handler'),
    modified: () => store.modify({ inserts: [{ queue: 'own', value: 'by modify()' }] }),
    async both(job) {
      await job.moveTo('own', 'before it failed')
      throw new Error('and then')
    }
  }
  await insert(store, 'q', ...Object.keys(outcomes))
  const worker = store.worker(['q'], { backoffMs: 60_000, backoffMaxMs: 60_000 })
  const failed = []
  const onError = (job, error) => failed.push([job.task.value, error])
  const drained = await worker.drain((job) => outcomes[job.task.value](job), { onError })
  assert.deepEqual(drained, { done: 11, retried: 13, dead: 1, others: 1 })
  const no = 'TypeError: the handler returned a'
  const not = `${no} change, which is no modification: { changes: [change] } is one`
  const left = await held(store, 'q')
  const known = 'inserts, changes, deletes, depends, docInserts, docPuts, docChanges, docDeletes, docDepends'
  const meant = (name) => `${no}n object with ${name}, which is no modification: return an object with only ${known}, or nothing`
  assert.deepEqual(left, [
    ['beside', 1, `InvalidArgumentError: modification.rows is not known; there is ${known}`],
    ['change', 1, not],
    ['changed', 1, not],
    ['error', 1, 'RangeError: of the application'],
    ['generator', 1, `${no} generator, which nobody runs: it has to be a function`],
    ['half', 1, 'Error: \ufffd'],
    ['realm', 1, meant('Insert')],
    ['rejects', 1, 'TypeError: later'],
    ['retry', 1, 'again'],
    ['returned', 1, 'returned'],
    ['timeout', 1, 'TimeoutError: took too long'],
    ['unknown', 1, `InvalidArgumentError: modification.insert is not known; there is ${known}`],
    ['value', 1, '{ code: 7 }']
  ])
  // A handler's exception is told as it is, and what the worker reports as an error of the library.
  const names = ['beside', 'both', 'change', 'changed', 'error', 'generator', 'half', 'realm', 'reject', 'rejects']
  assert.deepEqual(failed.map(([value]) => value).sort(), [...names, 'timeout', 'unknown', 'value'])
  const { error, reject } = Object.fromEntries(failed)
  assert.ok(error instanceof RangeError && reject instanceof DeadLetterError && reject.cause instanceof Reject)
  assert.match(reject.message, /^task .* was put aside: into q\/err: rejected: never$/)
  assert.deepEqual(await held(store, 'out'), [['moved', 0, ''], ['next', 0, ''], ['of a class', 0, '']])
  assert.deepEqual(await held(store, 'aside'), [['move', 1, 'for good']])
  assert.deepEqual(await held(store, 'own'), [
    ['both', 1, 'before it failed'],
    ['by modify()', 0, ''],
    ['own', 1, 'by the handler']
  ])
  const [stats] = await store.queueStats({ exact: ['q'] })
  assert.deepEqual([stats.size, stats.available], [13, 0])
})

onEveryBackend('what is released', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  await insert(store, 'q', 1)
  let turns = 0
  await store.worker('q', { maxCrashes: 1 }).drain((job) => {
    turns += 1
    assert.equal(job.task.claims, turns)
    if (turns < 3) throw new Release('not mine', { delayMs: 0 })
  })
  assert.equal(turns, 3)
  assert.deepEqual(await store.queues(), new Map())
})

onEveryBackend('what fails or is claimed too often goes to the error queue', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  await insert(store, 'q', 'fails')
  let turns = 0
  const failing = store.worker('q', { maxAttempts: 3, backoffMs: 0, backoffMaxMs: 0 })
  const kinds = []
  const running = failing.run(() => {
    turns += 1
    throw new Error(`${turns}`)
  }, {
    onError: () => {},
    onEvent({ kind }) {
      kinds.push(kind)
      if (kind === 'dead') failing.stop()
    }
  })
  assert.deepEqual(await running, { done: 0, retried: 2, dead: 1, others: 0 })
  assert.deepEqual(kinds, ['retried', 'retried', 'dead'])
  assert.equal(turns, 3)
  assert.deepEqual(await held(store, 'q/err'), [['fails', 3, 'Error: 1\nError: 2\nexhausted: Error: 3']])

  await insert(store, 'p', 'kills')
  for (let claims = 0; claims < 2; claims += 1) await store.claim('p', { leaseMs: 0 })
  const careful = store.worker('p', { maxCrashes: 2n, errorQueue: 'graves' })
  assert.deepEqual(await collect(careful.jobs()), [])
  const [[value, attempt, err]] = await held(store, 'graves')
  assert.deepEqual([value, attempt], ['kills', 1])
  assert.match(err, /^crashed: claimed 2 times/)
})

onEveryBackend('a job is renewed for as long as it goes on', async ({ connect, name }) => {
  const client = await connect()
  const store = client.tasks(name)
  const account = { namespace: 'n', key: 'k', content: 1 }
  await store.modify({
    inserts: [{ queue: 'q', value: 1 }],
    docInserts: [account, { ...account, id: 'second', content: 2 }, { ...account, key: 'l' }]
  })
  await store.worker('q', { leaseMs: 60_000 }).drain(async (job) => {
    const docs = await job.claimDocs('n', 'k')
    assert.deepEqual(docs.map((doc) => doc.content).sort(), [1, 2])
    assert.deepEqual(await job.claimDocs('n', 'none'), [])
    // The second renewal is the first that surely has the documents.
    await renewals(job, 3)
    assert.equal(job.isLost, false)
    assert.equal(job.handle.id, job.task.id)
    // As others see it too: the leases end later than they did.
    const [task] = await store.fetch([job.task.id])
    assert.ok(task.version > job.task.version && task.atMs > job.task.atMs)
    for (const { id, atMs } of docs) {
      const [doc] = await store.fetchDocs('n', [id])
      assert.ok(doc.atMs > atMs)
    }
    await assert.rejects(client.tasks(name).claimDocs('n', 'k'), { hasClaimedDocs: true })
    // Versions are those of now, of the documents as well; what is not named is released.
    const change = docs[0].change({ content: 'changed', release: true })
    return { deletes: [job.task], docChanges: [change], inserts: [{ queue: 'out' }] }
  })
  assert.deepEqual(await store.queues(), new Map([['out', 1]]))
  assert.deepEqual(await store.namespaceStats(), [{ namespace: 'n', size: 3, claimed: 0 }])
  const { docs } = await store.listDocs('n')
  assert.equal(docs.filter((doc) => doc.content === 'changed').length, 1)
}, RENEWING)

onEveryBackend('a lease that is lost', async ({ connect, name }) => {
  const client = await connect()
  const store = client.tasks(name)
  await insert(store, 'q', 'lost', 'next')
  const seen = []
  const told = []
  const onError = (job, error) => told.push([job.task.value, error.code])
  await store.worker('q', { leaseMs: 60_000, concurrency: 1 }).drain(async (job) => {
    if (seen.push(job.task.value) > 1) return
    const { signal } = job
    assert.equal(signal, job.signal)
    assert.equal(signal.aborted, false)
    // Both again if it is renewed at the same moment, as another version is no other's claim.
    await until(async () => {
      const { handle } = job
      const error = await store.modify({ deletes: [handle] }).then(assert.fail, (error) => error)
      assert.equal(error.code, 'DEPENDENCY')
      return isDeepStrictEqual(error.claims, [handle])
    }, 'it is refused as claimed by another')
    // Another client uses this claimant's name.
    const thief = client.tasks(name, { claimant: job.task.claimant })
    await until(async () => {
      const [task] = await store.fetch([job.task.id])
      const changes = [task.change({ queue: 'taken', delayMs: 60_000 })]
      return thief.modify({ changes }).then(() => true, ({ code }) => {
        assert.equal(code, 'DEPENDENCY')
      })
    }, 'it is taken')
    if (!signal.aborted) await once(signal, 'abort')
    assert.ok(signal.reason instanceof LeaseLostError)
    assert.equal(job.isLost, true)
    throw signal.reason
  }, { onError })
  assert.deepEqual(told, [[seen[0], 'LEASE_LOST']])
  // The loop has gone on, and the task is whose it was then.
  assert.equal(seen.length, 2)
  assert.deepEqual(await store.queues(), new Map([['taken', 1]]))
  const [task] = (await store.list('taken')).tasks
  assert.deepEqual([task.attempt, task.err], [0, ''])
}, RENEWING)

onEveryBackend('the signals of leases that are not lost', async ({ connect, name }) => {
  // Longer than a machine stands still before they are ended, as one that has expired is lost.
  const leaseMs = 5_000
  const client = await connect()
  const store = client.tasks(name)
  await insert(store, 'q', 1, 2, 3, 4)
  const jobs = await collect(store.worker('q', { leaseMs }).jobs())
  const [done, left, released, late] = jobs
  const signals = jobs.slice(0, 3).map((job) => job.signal)
  await done.done()
  left.leave()
  await released.release()
  const lease = await client.ick(name).lease(leaseMs)
  signals.push(lease.signal)
  assert.equal(await lease.release(), true)
  signals.push(done.signal, left.signal, lease.signal)
  // Nothing renews the leases once their client is closed; only the one that is held is lost.
  await late.claimDocs('n', 'k')
  const { signal } = late
  await client.close()
  if (!signal.aborted) await once(signal, 'abort')
  assert.ok(signal.reason instanceof LeaseLostError)
  late.leave()
  assert.deepEqual(signals.map(({ aborted }) => aborted), signals.map(() => false))
})

onEveryBackend('a modification that is spread still deletes the task', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  const [first, second] = [await store.insert('p', 1), await store.insert('p', 2)]
  await insert(store, 'q', 'others', 'none', 'again', 'before', 'nothing')
  const outcomes = {
    others: (job) => ({ ...job.delete(), deletes: new Set([first]) }),
    none: (job) => ({ ...job.delete(), deletes: undefined }),
    again: (job) => ({ ...job.delete(), deletes: [job.task] }),
    before: (job) => ({ deletes: [second], ...job.delete() }),
    nothing: (job) => ({ deletes: [], inserts: [{ queue: 'out', value: job.delete().deletes }] })
  }
  await store.worker('q', { leaseMs: 60_000 }).drain((job) => outcomes[job.task.value](job), { onError: () => {} })
  const sizes = await store.queues()
  assert.deepEqual([...sizes], [['out', 1], ['p', 1]])
  assert.equal((await held(store, 'p'))[0][0], 2)
})

onEveryBackend('jobs', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  await insert(store, 'q', 1, 2, 3, 4, 5, 6, 7)
  const worker = store.worker('q')
  const jobs = await collect(worker.jobs())
  const { value: number } = jobs[0].task
  assert.ok(jobs.every((job) => !job.isLost))
  const [done, retried, later, moved, released, left, finished] = jobs
  assert.deepEqual((await done.done()).changed, [])
  const [again] = (await retried.retry('no')).changed
  assert.ok(again.atMs >= again.modifiedMs + 15_000 && again.atMs <= again.modifiedMs + 30_000)
  const [put] = (await later.retry('no', { delayMs: 5_000 })).changed
  assert.deepEqual([put.atMs, put.attempt], [put.modifiedMs + 5_000, 1])
  assert.equal((await moved.moveTo('p')).changed[0].queue, 'p')
  const [free] = (await released.release()).changed
  assert.equal(free.attempt, 0)
  assert.ok(free.atMs >= free.modifiedMs + 50 && free.atMs <= free.modifiedMs + 100)
  assert.ok(released.isEnded && !left.isEnded)
  left.leave()
  left.leave()
  assert.equal(left.isLost, true)
  assert.equal(left.handle.version, left.task.version)
  await assert.rejects(left.done(), LeaseLostError)
  await assert.rejects(left.finish({}), { code: 'LEASE_LOST', operation: '' })
  await finished[Symbol.asyncDispose]()
  await assert.rejects(done.done(), { code: 'LEASE_LOST', message: /the job has ended/ })
  assert.equal((await store.list('q')).tasks.find(({ value }) => value === number), undefined)
})

onEveryBackend('an end that is refused is a failure, and reported', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  await insert(store, 'q', 1)
  const told = []
  const onError = (job, error) => told.push([job.task.value, job.isEnded, error.code, error.depends])
  const depends = [{ id: 'none', version: 7 }]
  const outcomes = [
    (job) => ({ ...job.delete(), depends }),
    (job) => ({ ...job.delete(), inserts: [{ queue: '' }] })
  ]
  const worker = store.worker('q', { backoffMs: 0, backoffMaxMs: 0 })
  const drained = await worker.drain((job) => outcomes[job.task.attempt]?.(job), { onError })
  assert.deepEqual(drained, { done: 1, retried: 2, dead: 0, others: 0 })
  assert.deepEqual(told, [[1, true, 'DEPENDENCY', depends], [1, true, 'INVALID_ARGUMENT', undefined]])
})

/** What is written to the console meanwhile. */
async function logged(t, run) {
  const { mock } = t.mock.method(console, 'error', () => {})
  await run()
  return mock.calls.map((call) => call.arguments)
}

test('what goes wrong is logged if nobody asks', async (t) => {
  const client = await connect('memory:')
  const store = client.tasks('shop')
  await insert(store, 'q', 1)
  const boom = new RangeError('boom')
  const rejected = logged(t, () => store.worker('q', { maxAttempts: 1 }).drain(() => Promise.reject(boom)))
  const [[message, error], more] = await rejected
  assert.match(message, /^millpond: task .* was put aside: into q\/err: exhausted: RangeError: boom$/)
  assert.deepEqual([error, more], [boom, undefined])
  // A hook that fails does no harm.
  await insert(store, 'p', 1)
  const hooks = { onError: async () => { throw boom }, onEvent() { throw boom } }
  const failed = await logged(t, () => store.worker('p').drain(() => { throw new Reject() }, hooks))
  assert.deepEqual(failed.at(-1), ['millpond: a hook failed:', boom])
  await client.close()
})

onEveryBackend('a handler that takes too long', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  await insert(store, 'q', 1)
  const worker = store.worker('q', { timeoutMs: 30 })
  const failed = []
  let late
  const drained = await worker.drain((job) => {
    late = once(job.signal, 'abort').then(() => { throw job.signal.reason })
    return late
  }, { onError: (job, error) => failed.push([job.isEnded, error, job.signal.reason]) })
  assert.deepEqual(drained, { ...NOTHING, retried: 1 })
  const [[isEnded, error, reason]] = failed
  assert.ok(isEnded && error === reason && error.name === 'TimeoutError')
  assert.equal(failed.length, 1)
  assert.deepEqual(await held(store, 'q'), [[1, 1, 'timeout: it took longer than 30 ms']])
  await assert.rejects(late, error)
})

const TASKS = 40
// Without exclusion it takes at least a lease, which is longer than a test may take.
const LONG_MS = 600_000

/** Two workers on tasks that each add 1 to one document. */
async function trap(client, name, waitMs) {
  const store = client.tasks(name)
  const inserts = Array.from({ length: TASKS }, () => ({ queue: 'q' }))
  await store.modify({ inserts, docInserts: [{ namespace: 'n', key: 'k', content: 0 }] })
  const work = (own) =>
    own.worker('q', { leaseMs: LONG_MS, maxAttempts: 1, maxCrashes: 1 }).drain(async (job) => {
      const [doc] = await job.claimDocs('n', 'k', { waitMs })
      await sleep(10)
      return { ...job.delete(), docChanges: [doc.change({ content: doc.content + 1 })] }
    })
  await Promise.all([work(store), work(waitMs === undefined ? store : client.tasks(name))])
  assert.deepEqual(await store.queues(), new Map())
  assert.equal((await store.listDocs('n')).docs[0].content, TASKS)
}

onEveryBackend('jobs that need one document', async ({ connect, name, url }) => {
  if (url.startsWith('file:')) return
  const client = await connect()
  for (const waitMs of [undefined, LONG_MS]) await trap(client, `${name}${waitMs}`, waitMs)
})

onEveryBackend('a job waits for documents', async ({ connect, name }) => {
  const client = await connect()
  const [store, other] = [client.tasks(name), client.tasks(name)]
  await insert(store, 'q', 1)
  await store.modify({ docInserts: [{ namespace: 'n', key: 'k', id: 'd' }] })
  const [doc] = await other.claimDocs('n', 'k', { leaseMs: 60_000 })
  const { value: job } = await store.worker('q').jobs().next()
  const taken = await job.claimDocs('n', 'k', { waitMs: 50 }).catch((error) => error)
  assert.equal(taken.code, 'DEPENDENCY')
  await other.renew({ docs: [doc] }, { leaseMs: 50 })
  assert.equal((await job.claimDocs('n', 'k', { waitMs: 60_000 })).length, 1)
  // Its message for a document that was claimed is no failed attempt; any other is.
  const [released] = (await job.fail(`as it was: ${taken.message}`)).changed
  assert.deepEqual([released.attempt, released.err], [0, ''])
  assert.ok(released.atMs >= released.modifiedMs + 8 && released.atMs <= released.modifiedMs + 16)
})

onEveryBackend('a retry after an abort', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  await insert(store, 'q', 1)
  const controller = new AbortController()
  const running = store.worker('q').run(() => {
    controller.abort()
    throw new Retry('of its own', { delayMs: 7_000 })
  }, { signal: controller.signal })
  await assert.rejects(running, { name: 'AbortError' })
  const [{ attempt, atMs, modifiedMs }] = (await store.list('q')).tasks
  assert.deepEqual([attempt, atMs - modifiedMs], [1, 7_000])
})

onEveryBackend('a claim waits for the time of a task', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  const asked = store.claims(['a', 'b'], { waitMs: 60_000 }).next()
  await store.time()
  await store.insert('b', 1, { delayMs: 300 })
  const { value, done } = await asked
  assert.equal(done, false, 'it was woken')
  assert.equal(value[0].value, 1)
}, NEVER_POLLING)
