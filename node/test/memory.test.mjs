// Nothing grows with the number of calls.

import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'

import { connect } from 'millpond'

import { sharedServer } from './servers.mjs'
import { directory, newName, renewals, RENEWING, untilNotRenewed } from './support.mjs'

const GROWTH_BYTES_MAX = 16 * 1024 * 1024

/** Makes this many calls, of every kind, 50 at a time; some fail and some are aborted. */
async function use(client, name, calls) {
  const CALLS_A_TURN = 10
  const one = async (number) => {
    const ick = client.ick(`${name}-${number}`, { returnBuffers: number % 2 === 0 })
    for (let turn = 0; turn < calls / 50 / CALLS_A_TURN; turn += 1) {
      await ick.add([[1, 'a'], [2, Buffer.from('b')], [3, `c${turn}`]])
      await ick.stats()
      await ick.reserve(10)
      await ick.add([[NaN, 'x']]).catch(() => {})
      const controller = new AbortController()
      const aborted = ick.peek(1, { signal: controller.signal }).catch(() => {})
      controller.abort()
      await aborted
      await ick.commit(['a'])
      const batches = ick.batches(10)
      while (!(await batches.next()).done);
      const lease = await ick.lease(1000)
      await lease.release()
    }
    await ick.delete()
  }
  await Promise.all(Array.from({ length: 50 }, (_, number) => one(number)))
}

/** The same for shuffle queues, 20 at a time, on half of which some messages are no text. */
async function useShuffle(client, name, calls) {
  const CALLS_A_TURN = 10
  const one = async (number) => {
    const options = { returnBuffers: number % 2 === 0, trackKeys: 'queue' }
    const queue = client.shuffleQueue(`${name}-${number}`, options)
    const consumer = queue.consumer('g', 'c')
    for (let turn = 0; turn < calls / 20 / CALLS_A_TURN; turn += 1) {
      await queue.writeMany([['a', { n: '1' }], ['b', [['n', Buffer.from([0xff])]]]])
      await queue.writeTracked('a', { n: 'x' }, 'n', { deadline: 1 })
      await queue.write('a', {}).catch(() => {})
      for (const message of await consumer.readMany(2)) readOf(message)
      const controller = new AbortController()
      const { signal } = controller
      const messages = consumer.messages({ waitMs: Infinity, signal })
      await messages.next().catch(() => {})
      const waits = [messages.next(), consumer.read({ waitMs: Infinity, signal })]
      const aborted = Promise.allSettled(waits)
      await queue.stats('g')
      controller.abort()
      await aborted
      for await (const _ of queue.gc());
      const taken = await consumer.reclaim(0, 10)
      assert.equal(await consumer.ackAndDelete(taken.messages), 3)
    }
  }
  await Promise.all(Array.from({ length: 20 }, (_, number) => one(number)))
}

/** The same for task stores, 20 at a time. */
async function useTasks(client, name, calls) {
  const CALLS_A_TURN = 12
  const one = async (number) => {
    const store = client.tasks(`${name}-${number}`)
    const doc = { namespace: 'n', key: 'k', content: 1, skipColliding: true }
    for (let turn = 0; turn < calls / 20 / CALLS_A_TURN; turn += 1) {
      const inserts = [1, 2, 3].map((value) => ({ queue: 'q', value }))
      await store.modify({ inserts, docInserts: [{ ...doc, id: 'd' }] })
      await store.modify({ deletes: [{ id: 'none', version: 0 }] }).catch(() => {})
      const task = await store.claim('q')
      await store.modify({ changes: [task.change({ value: 4 }).retry('no')] })
      const controller = new AbortController()
      const { signal } = controller
      const waits = [
        store.claims('none', { waitMs: Infinity, signal }).next(),
        store.worker('none').run(() => {}, { signal })
      ]
      const aborted = Promise.allSettled(waits)
      await store.queueStats()
      controller.abort()
      await aborted
      await store.worker('q').drain(async (job) => {
        await job.claimDocs('n', 'k')
        if (job.signal.aborted) throw new Error('lost')
      })
      await store.insert('left', 1)
      const { value: job } = await store.worker('left').jobs().next() // and it is forgotten
      const holder = client.tasks(`${name}-${number}`, { claimant: job.task.claimant })
      await holder.modify({ deletes: [job.task] })
    }
  }
  await Promise.all(Array.from({ length: 20 }, (_, number) => one(number)))
}

function readOf(message) {
  try {
    return message.fields.length
  } catch {
    return message.bytes.length
  }
}

async function grows(url, calls, uses = use) {
  const client = await connect(url, { timeoutMs: 60_000 })
  const name = newName()
  await uses(client, name, calls / 5)
  const before = resident()
  await uses(client, name, calls)
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

test('many calls', { timeout: 300_000 }, () => grows('memory:', TIMES * 100_000))

test('on a file', { timeout: 300_000 }, async () => {
  await grows(`file:${path.join(await directory(), 'data')}?sync=never`, TIMES * 20_000)
})

test('on a server', { timeout: 300_000 }, async () => {
  await grows((await sharedServer()).url, TIMES * 20_000)
})

test('shuffle queues', { timeout: 300_000 }, async () => {
  await grows('memory:', TIMES * 2_500, useShuffle)
  await grows((await sharedServer()).url, TIMES * 1_000, useShuffle)
})

test('task stores', { timeout: 300_000 }, async () => {
  await grows('memory:', TIMES * 2_500, useTasks)
  await grows((await sharedServer()).url, TIMES * 1_000, useTasks)
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
  const loop = async () => (await ick.lease(60_000)).batches(1)
  const batches = await loop()
  await collectGarbage()
  assert.equal(await ick.lease(60_000), null)
  assert.equal((await batches.next()).done, true)
})

test('what waits keeps what it needs', async () => {
  const waits = async () => {
    const client = await connect('memory:x')
    const lease = await client.ick('x').lease(60_000)
    const consumer = client.shuffleQueue('x').consumer('g', 'c')
    return [
      lease.batches(1, { waitMs: Infinity }).next(),
      consumer.read({ waitMs: Infinity }),
      consumer.messages({ max: 1, waitMs: Infinity }).next(),
      client.tasks('x').claims('q', { waitMs: Infinity }).next(),
      client.tasks('x').worker('p', { waitMs: Infinity }).jobs().next()
    ]
  }
  const asked = await waits()
  await collectGarbage()
  const client = await connect('memory:x')
  assert.equal(await client.ick('x').lease(60_000), null)
  await client.ick('x').add([[1, 'a']])
  await client.shuffleQueue('x').writeMany([['a', { n: '1' }], ['a', { n: '2' }]])
  await client.tasks('x').modify({ inserts: ['p', 'q'].map((queue) => ({ queue })) })
  const [batch, message, loop, claimed, job] = await Promise.all(asked)
  assert.deepEqual(batch.value, [['a', 1]])
  assert.deepEqual([message.field('n'), loop.value[0].field('n')].sort(), ['1', '2'])
  assert.deepEqual([claimed.value[0].queue, job.value.task.queue], ['q', 'p'])
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
