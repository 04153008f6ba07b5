// Nothing grows with the number of calls.

import assert from 'node:assert/strict'
import path from 'node:path'
import { describe, test } from 'node:test'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'

import { connect } from 'millpond'

import { CALLS, LOOPS, WAITS } from './kit.mjs'
import { sharedServer } from './servers.mjs'
import { directory, newName, renewals, RENEWING, until, untilNotRenewed } from './support.mjs'

const GROWTH_BYTES_MAX = 16 * 1024 * 1024

/** Of some classes what is used beside their calls, their waits and their loops. */
const OWN = {
  async ConsumerLease(released, client, name) {
    const ick = client.ick(name)
    await ick.add([[1, 'a'], [2, Buffer.from('b')]])
    const lease = await ick.lease(1000)
    for await (const _ of lease.batches(1));
    await lease.release()
  },

  async QueueTracker(tracker) {
    const fail = () => { throw new Error('on purpose') }
    await tracker.scan(() => [[1, 'a'], ['b', Buffer.from('b')], [3n, null]], { roundMinMs: 0 })
    await tracker.scan(async () => new Map([[1, 'c']]), { roundMinMs: 0 })
    await tracker.scan(fail).catch(() => {})
    await tracker.prune(async (ids) => ids.slice(1))
    await tracker.prune(fail).catch(() => {})
    await tracker.clear()
  },

  async Recruiter(recruiter) {
    recruiter.setDutyMax(1)
    recruiter.onError(() => {})
    recruiter.install('a', { share: 1 }, async (slice) => !slice.isOver)
    await recruiter.enlist()
    recruiter.uninstall('a')
    recruiter.install('a', { share: 1 }, () => { throw new Error('on purpose') })
    await recruiter.enlist()
    recruiter.uninstall('a')
    recruiter.install('a', { perSecond: 1_000 }, () => 1)
    await recruiter.enlist()
    await recruiter.run({ signal: AbortSignal.timeout(1) }).catch(() => {})
  },

  async ShuffleQueue(queue) {
    const consumer = queue.consumer('own', 'c')
    // One message is no text.
    await queue.writeMany([['a', { n: '1' }], ['b', [['n', Buffer.from([0xff])]]]])
    await queue.writeTracked('a', { n: 'x' }, 'n', { deadline: 1 })
    for (const message of await consumer.readMany(3)) assert.equal(message.bytes.length, 1)
    for await (const _ of queue.gc());
    await consumer.ackAndDelete((await consumer.reclaim(0, 10)).messages)
  },

  async TaskStore(store, client, name) {
    const doc = { namespace: 'own', key: 'k', content: 1, skipColliding: true }
    await store.modify({ inserts: [{ queue: 'own', value: 1 }], docInserts: [{ ...doc, id: 'd' }] })
    const task = await store.claim('own')
    await store.modify({ changes: [task.change({ value: 4 }).retry('no')] })
    await store.worker('own').drain(async (job) => {
      await job.claimDocs('own', 'k')
      if (job.signal.aborted) throw new Error('lost')
    })
    await store.insert('left', 1)
    const { value: job } = await store.worker('left').jobs().next() // and it is forgotten
    await client.tasks(name, { claimant: job.task.claimant }).modify({ deletes: [job.task] })
  }
}

/** Makes each call of a class, which may fail, aborts each and each wait, and goes through each loop, in each turn. */
async function use(client, name, { open, calls, own }, turns) {
  const waits = WAITS.filter((row) => row.open === open)
  const loops = LOOPS.filter((row) => row.open === open)
  const one = async (number) => {
    for (let turn = 0; turn < turns; turn += 1) {
      const queue = await open(client, `${name}-${number}`)
      // What is aborted is done all the same, in a queue where it disturbs nothing.
      const other = await open(client, `${name}-${number}-aborted`)
      const begin = (handle, options) => Object.entries(calls).map(([method, args]) => handle[method](...args, options))
      await Promise.allSettled(begin(queue, {}))
      const controller = new AbortController()
      const options = { waitMs: Infinity, signal: controller.signal }
      const asked = [...begin(other, { signal: controller.signal }), ...waits.map(({ wait }) => wait(queue, options))]
      const aborted = Promise.allSettled(asked)
      await client.taskStores()
      controller.abort()
      await aborted
      for (const { put, loop, settle } of loops) {
        await put(queue, 'a', 'b', 'c')
        for await (const batch of loop(queue, { max: 2 })) await settle(queue, batch)
      }
      await own?.(queue, client, `${name}-${number}`)
    }
  }
  await Promise.all(Array.from({ length: 20 }, (_, number) => one(number)))
}

async function grows(url, row, turns) {
  const client = await connect(url, { timeoutMs: 60_000, returnBuffers: url.startsWith('file:') })
  const name = newName()
  await use(client, name, row, turns / 5)
  const before = resident()
  await use(client, name, row, turns)
  await settles(before)
  await client.close()
}

function resident() {
  globalThis.gc()
  return process.memoryUsage.rss()
}

/** Waits for threads that still put away what is garbage; what has leaked stays. */
async function settles(before) {
  const deadline = Date.now() + 20_000
  let grown
  do {
    grown = resident() - before
    if (grown < GROWTH_BYTES_MAX) return
    await sleep(100)
  } while (Date.now() < deadline)
  assert.fail(`${grown} bytes`)
}

/** `make test-all` makes ten times as many calls, and finds leaks a tenth as large. */
const TIMES = process.env.MILLPOND_DEEP ? 10 : 1

describe('calls, waits and loops', () => {
  const { Client: _, ...rows } = CALLS
  for (const [name, row] of Object.entries(rows)) {
    test(name, { timeout: 300_000 }, async () => {
      const turns = TIMES * (name === 'Ick' ? 200 : 20)
      const used = { ...row, own: OWN[name] }
      await grows('memory:', used, turns)
      await grows(`file:${path.join(await directory(), 'data')}?sync=never`, used, turns / 5)
      await grows((await sharedServer()).url, used, turns / 5)
    })
  }
})

/** Collects garbage while the event loop goes on. */
async function collectGarbage() {
  for (let count = 0; count < 20; count += 1) {
    globalThis.gc()
    await turn()
  }
}

test('a loop keeps its lease', async () => {
  const ick = (await connect('memory:')).ick('x')
  const loop = async () => (await ick.lease(60_000)).batches(1, { waitMs: Infinity })
  const batches = await loop()
  await collectGarbage()
  assert.equal(await ick.lease(60_000), null)
  const asked = batches.next()
  await collectGarbage()
  assert.equal(await ick.lease(60_000), null)
  await ick.add([[1, 'a']])
  assert.deepEqual((await asked).value, [['a', 1]])
})

test('a lock that is dropped is released', async () => {
  const hash = (await connect('memory:')).volatileHash('x')
  const forget = async () => {
    await hash.lock('a', 60_000)
    assert.equal(await hash.lock('a', 60_000), null)
  }
  await forget()
  const isFree = async () => {
    await collectGarbage()
    return (await hash.holder('a')) === null
  }
  await until(isFree, 'the lock is free')
})

test('what waits keeps what it needs', async () => {
  const url = `memory:${newName()}`
  const waits = async () => {
    const client = await connect(url)
    return WAITS.map(({ open, name, wait }) => wait(open(client, name), { waitMs: Infinity }))
  }
  const asked = await waits()
  await collectGarbage()
  const client = await connect(url)
  for (const { open, name, put } of WAITS) await put(open(client, name), 'a')
  assert.deepEqual(await Promise.all(asked), WAITS.map(() => ['a']))
})

test('a job that is dropped is not renewed', async () => {
  const client = await connect(`memory:${RENEWING}`)
  const store = client.tasks('x')
  await store.insert('q', 1)
  const forget = async () => {
    const { value: job } = await store.worker('q', { leaseMs: 60_000 }).jobs().next()
    await renewals(job, 1)
    return [job.signal, job.task]
  }
  const [signal, { id, claimant }] = await forget()
  const task = await untilNotRenewed(store, id, collectGarbage)
  assert.deepEqual([task.claims, task.claimant], [1, claimant])
  // Its lease ends here, since a minute is long.
  await client.tasks('x', { claimant }).renew({ tasks: [task] }, { leaseMs: 50 })
  const { value } = await store.claims('q', { waitMs: 60_000 }).next()
  assert.equal(value[0].claims, 2)
  assert.equal(signal.aborted, false)
})

test('clients that are forgotten', { timeout: 300_000 }, async () => {
  const { url } = await sharedServer()
  const some = async (count) => {
    for (let number = 0; number < count; number += 1) {
      const client = await connect(number % 2 ? url : 'memory:')
      await client.ick('x').add(['a'])
    }
  }
  await some(200)
  const before = resident()
  await some(1000)
  await settles(before)
})
