// Workers, their jobs, and what an abort does to both, on every backend.

import assert from 'node:assert/strict'
import { getEventListeners, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

import { LeaseLostError, Move, Release, Retry } from 'millpond'

import { collect, onEveryBackend } from './support.mjs'

/** What is in a queue: values, attempts and errors. */
async function held(store, queue) {
  const { tasks } = await store.list(queue)
  return tasks.map(({ value, attempt, err }) => [value, attempt, err]).sort()
}

/** Inserts tasks with these values. */
async function insert(store, queue, ...values) {
  await store.modify({ inserts: values.map((value) => ({ queue, value })) })
}

onEveryBackend('what becomes of a task', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  const outcomes = {
    nothing: () => undefined,
    null: () => null,
    delete: (job) => ({ ...job.delete(), inserts: [{ queue: 'out', value: 'next' }] }),
    change: (job) => ({ changes: [job.task.change({ queue: 'out', value: 'moved' })] }),
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
    own: (job) => job.moveTo('own', 'by the handler'),
    async both(job) {
      await job.moveTo('own', 'before it failed')
      throw new Error('and then')
    }
  }
  await insert(store, 'q', ...Object.keys(outcomes))
  const worker = store.worker(['q'], { backoffMs: 60_000, backoffMaxMs: 60_000 })
  assert.equal(await worker.run((job) => outcomes[job.task.value](job)), undefined)
  assert.deepEqual(await held(store, 'q'), [
    ['error', 1, 'RangeError: of the application'],
    ['half', 1, 'Error: \ufffd'],
    ['rejects', 1, 'TypeError: later'],
    ['retry', 1, 'again'],
    ['timeout', 1, 'TimeoutError: took too long'],
    ['value', 1, '{ code: 7 }']
  ])
  assert.deepEqual(await held(store, 'out'), [['moved', 0, ''], ['next', 0, '']])
  assert.deepEqual(await held(store, 'aside'), [['move', 1, 'for good']])
  assert.deepEqual(await held(store, 'own'), [
    ['both', 1, 'before it failed'],
    ['own', 1, 'by the handler']
  ])
  const [stats] = await store.queueStats({ exact: ['q'] })
  assert.deepEqual([stats.size, stats.available], [6, 0])
})

onEveryBackend('what is released', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  await insert(store, 'q', 1)
  let turns = 0
  await store.worker('q', { waitMs: 0, maxClaims: 1 }).run((job) => {
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
  const failing = store.worker('q', { maxAttempts: 3, backoffMs: 0, backoffMaxMs: 0, waitMs: 1_000 })
  await failing.run(() => {
    turns += 1
    throw new Error(`${turns}`)
  })
  assert.equal(turns, 3)
  assert.deepEqual(await held(store, 'q/err'), [['fails', 3, 'Error: 1\nError: 2\nError: 3']])

  await insert(store, 'p', 'kills')
  for (let claims = 0; claims < 2; claims += 1) await store.claim('p', { leaseMs: 0 })
  const careful = store.worker('p', { maxClaims: 2n, errorQueue: 'graves' })
  assert.deepEqual(await collect(careful.jobs()), [])
  const [[value, attempt, err]] = await held(store, 'graves')
  assert.deepEqual([value, attempt], ['kills', 1])
  assert.match(err, /^claimed 2 times/)
})

onEveryBackend('a job is renewed for as long as it goes on', async ({ connect, name }) => {
  const client = await connect()
  const store = client.tasks(name)
  const account = { namespace: 'n', key: 'k', content: 1 }
  await store.modify({
    inserts: [{ queue: 'q', value: 1 }],
    docInserts: [account, { ...account, id: 'second', content: 2 }, { ...account, key: 'l' }]
  })
  await store.worker('q', { leaseMs: 2_000 }).run(async (job) => {
    const docs = await job.claimDocs('n', 'k')
    assert.deepEqual(docs.map((doc) => doc.content).sort(), [1, 2])
    assert.deepEqual(await job.claimDocs('n', 'none'), [])
    await sleep(2_700)
    assert.equal(job.isLost, false)
    assert.ok(job.handle.version > job.task.version)
    assert.equal(job.handle.id, job.task.id)
    await assert.rejects(client.tasks(name).claimDocs('n', 'k'), { hasClaimedDocs: true })
    // Versions are those of now, of the documents as well; what is not named is released.
    const change = docs[0].change({ content: 'changed', release: true })
    return { deletes: [job.task], docChanges: [change], inserts: [{ queue: 'out' }] }
  })
  assert.deepEqual(await store.queues(), new Map([['out', 1]]))
  assert.deepEqual(await store.namespaceStats(), [{ namespace: 'n', size: 3, claimed: 0 }])
  const { docs } = await store.listDocs('n')
  assert.equal(docs.filter((doc) => doc.content === 'changed').length, 1)
})

onEveryBackend('a lease that is lost', async ({ connect, name }) => {
  const client = await connect()
  const store = client.tasks(name)
  await insert(store, 'q', 'lost', 'next')
  const seen = []
  await store.worker('q', { leaseMs: 4_000 }).run(async (job) => {
    if (seen.push(job.task.value) > 1) return
    const { signal } = job
    assert.equal(signal, job.signal)
    assert.equal(signal.aborted, false)
    // Another client uses this claimant's name.
    const [task] = await store.fetch([job.task.id])
    await assert.rejects(store.modify(job.delete()), { code: 'DEPENDENCY', claims: [job.handle] })
    const thief = client.tasks(name, { claimant: job.task.claimant })
    await thief.modify({ changes: [task.change({ queue: 'taken', delayMs: 60_000 })] })
    if (!signal.aborted) await once(signal, 'abort')
    assert.ok(signal.reason instanceof LeaseLostError)
    assert.equal(job.isLost, true)
    throw signal.reason
  })
  // The loop has gone on, and the task is whose it was then.
  assert.equal(seen.length, 2)
  assert.deepEqual(await store.queues(), new Map([['taken', 1]]))
  const [task] = (await store.list('taken')).tasks
  assert.deepEqual([task.attempt, task.err], [0, ''])
})

onEveryBackend('the signals of leases that are not lost', async ({ connect, name }) => {
  const client = await connect()
  const store = client.tasks(name)
  await insert(store, 'q', 1, 2, 3, 4)
  const jobs = await collect(store.worker('q', { leaseMs: 300 }).jobs())
  const [done, left, released, late] = jobs
  const signals = jobs.slice(0, 3).map((job) => job.signal)
  await done.done()
  left.leave()
  await released.release()
  const lease = await client.ick(name).lease(300)
  signals.push(lease.signal)
  assert.equal(await lease.release(), true)
  signals.push(done.signal, left.signal, lease.signal)
  // Nothing renews the leases once their client is closed; only the one that is held is lost.
  await late.claimDocs('n', 'k')
  const { signal } = late
  await client.close()
  if (!signal.aborted) await once(signal, 'abort')
  assert.ok(signal.reason instanceof LeaseLostError)
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
    // With a task that the modification does not name nothing is done.
    nothing: (job) => ({ deletes: [], inserts: [{ queue: 'out', value: job.delete().deletes }] })
  }
  await store.worker('q', { leaseMs: 60_000 }).run((job) => outcomes[job.task.value](job))
  const sizes = await store.queues()
  assert.deepEqual([...sizes].sort(), [['out', 1], ['p', 1], ['q', 1]])
  const [[left], [other]] = [await held(store, 'q'), await held(store, 'p')]
  assert.deepEqual([left[0], other[0]], ['nothing', 2])
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
  await assert.rejects(done.done(), { code: 'DEPENDENCY', hasMissing: true })
  assert.equal((await store.list('q')).tasks.find(({ value }) => value === number), undefined)
})

onEveryBackend('a modification that no store could do is a failure', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  await insert(store, 'q', 1)
  const seen = []
  const worker = store.worker('q', { backoffMs: 1, backoffMaxMs: 1, waitMs: 1_000 })
  await worker.run((job) => {
    const impossible = [{ inserts: [{ queue: '' }] }, { delete: [] }, 5]
    return impossible[seen.push([job.task.attempt, job.task.err.split('\n').at(-1)]) - 1]
  })
  assert.deepEqual(seen.map(([attempt]) => attempt), [0, 1, 2, 3])
  assert.equal(seen[1][1], "InvalidArgumentError: tasks.modify: the queue's name is empty")
  assert.match(seen[2][1], /^InvalidArgumentError: .*delete is not known/)
  assert.match(seen[3][1], /^TypeError: modification has to be an object/)
  assert.deepEqual(await store.queues(), new Map())
})

onEveryBackend('a refused end releases the task and is reported', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  await insert(store, 'q', 1)
  const told = []
  const onError = (job, error) => told.push([job.task.value, job.isEnded, error.depends])
  const depends = [{ id: 'none', version: 7 }]
  await store.worker('q').run((job) => ({ ...job.delete(), depends }), { onError })
  assert.deepEqual(told, [[1, true, depends]])
  const [[value, attempt, err]] = await held(store, 'q')
  assert.deepEqual([value, attempt], [1, 1])
  assert.match(err, /^DependencyError: .* depend on .* none:v7$/)

  // It is a warning by default, and what throws ends the run.
  await insert(store, 'p', 1)
  const warned = once(process, 'warning')
  await store.worker('p', { maxAttempts: 1 }).run(() => { throw new Move('') })
  const [warning] = await warned
  assert.match(`${warning}`, /^MillpondWarning: the end of task .* was refused: .*name is empty$/)
  await insert(store, 'r', 1)
  const stop = new RangeError('stop')
  const running = store.worker('r').run(() => { throw new Move('') }, { onError: () => { throw stop } })
  await assert.rejects(running, stop)
})

const TASKS = 40

/** Two workers on tasks that each add 1 to one document. */
async function trap(client, name, waitMs) {
  const store = client.tasks(name)
  const inserts = Array.from({ length: TASKS }, () => ({ queue: 'q' }))
  await store.modify({ inserts, docInserts: [{ namespace: 'n', key: 'k', content: 0 }] })
  const start = performance.now()
  const work = (own) =>
    own.worker('q', { leaseMs: 30_000, maxAttempts: 1, maxClaims: 1 }).run(async (job) => {
      const [doc] = await job.claimDocs('n', 'k', { waitMs })
      await sleep(10)
      return { ...job.delete(), docChanges: [doc.change({ content: doc.content + 1 })] }
    })
  await Promise.all([work(store), work(waitMs === undefined ? store : client.tasks(name))])
  const took = performance.now() - start
  assert.deepEqual(await store.queues(), new Map())
  assert.equal((await store.listDocs('n')).docs[0].content, TASKS)
  return took
}

onEveryBackend('jobs that need one document', async ({ connect, name, url }) => {
  if (url.startsWith('file:')) return
  const client = await connect()
  for (const waitMs of [undefined, 20_000]) {
    const took = await trap(client, `${name}${waitMs}`, waitMs)
    // Without exclusion it is at least a lease.
    assert.ok(took < 20_000, `it took ${took} ms`)
  }
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

onEveryBackend('an abort', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  const controller = new AbortController()
  const { signal } = controller
  const reason = new RangeError('no more')
  const worker = store.worker('q', { waitMs: Infinity })
  const waits = [
    worker.run(() => {}, { signal }),
    worker.jobs({ signal }).next(),
    store.claims('q', { waitMs: Infinity, signal }).next()
  ]
  const settled = Promise.allSettled(waits)
  await store.time()
  controller.abort(reason)
  for (const result of await settled) assert.equal(result.reason, reason)
  assert.deepEqual(getEventListeners(signal, 'abort'), [])
  for (const call of [
    store.insert('q', 1, { signal }),
    store.modify({}, { signal }),
    store.claim('q', { signal }),
    store.claimMany('q', 1, { signal }),
    store.renew({ tasks: [] }, { signal }),
    store.fetch(['a'], { signal }),
    store.list('q', { signal }),
    store.queues({ signal }),
    store.areEmpty({ exact: ['q'], signal }),
    store.queueStats({ signal }),
    store.claimDocs('n', 'k', { signal }),
    store.getDoc('n', 'k', { signal }),
    store.putDoc('n', 'k', 1, { signal }),
    store.fetchDocs('n', ['a'], { signal }),
    store.listDocs('n', { signal }),
    store.namespaceStats({ signal }),
    store.time({ signal }),
    worker.run(() => {}, { signal })
  ]) {
    await assert.rejects(call, (error) => error === reason)
  }
  // Those that wait no more take no task from others.
  const asked = store.claims('q', { waitMs: 20_000 }).next()
  await store.time()
  await insert(store, 'q', 1)
  assert.equal((await asked).value[0].value, 1)
})

onEveryBackend('an abort while a handler works', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  const run = async (handler) => {
    await insert(store, 'q', 1)
    const controller = new AbortController()
    const worker = store.worker('q', { waitMs: Infinity })
    const running = worker.run((job) => handler(job, controller), { signal: controller.signal })
    await assert.rejects(running, { name: 'AbortError' })
    const { tasks } = await store.list('q')
    await store.modify({ deletes: tasks })
    return tasks.map(({ attempt, atMs, modifiedMs }) => [attempt, atMs - modifiedMs])
  }
  // One that is done is done, one that stops with the signal has released its task.
  assert.deepEqual(await run((_, controller) => controller.abort()), [])
  const stops = async (_, controller) => {
    controller.abort()
    await sleep(60_000, undefined, { signal: controller.signal })
  }
  assert.deepEqual(await run(stops), [[0, 0]])
  const throws = (_, controller) => {
    controller.abort()
    controller.signal.throwIfAborted()
  }
  assert.deepEqual(await run(throws), [[0, 0]])
  const fails = (_, controller) => {
    controller.abort()
    throw new Retry('of its own', { delayMs: 7_000 })
  }
  assert.deepEqual(await run(fails), [[1, 7_000]])
})

onEveryBackend('a claim waits for a task and for its time', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  const wait = () => store.claims(['a', 'b'], { waitMs: 20_000 }).next()
  for (const options of [{}, { delayMs: 300 }]) {
    const asked = wait()
    await store.time()
    const began = performance.now()
    await store.insert('b', 1, options)
    const [task] = (await asked).value
    assert.equal(task.value, 1)
    assert.ok(performance.now() - began < 10_000, 'it was woken')
    await store.modify({ deletes: [task] })
  }
  const began = performance.now()
  assert.deepEqual(await collect(store.claims('a', { waitMs: 150 })), [])
  assert.ok(performance.now() - began > 145)
})

onEveryBackend('one request at a time', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  const jobs = store.worker('q', { waitMs: Infinity }).jobs()
  const asked = jobs.next()
  await assert.rejects(jobs.next(), { code: 'INVALID_ARGUMENT', message: /requested already/ })
  assert.deepEqual(await jobs.return(), { done: true, value: undefined })
  assert.deepEqual(await asked, { done: true, value: undefined })
  assert.deepEqual(await jobs.next(), { done: true, value: undefined })
})
