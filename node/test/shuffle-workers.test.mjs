// Workers of shuffle queues, on every backend; what they share with those of task stores is in tasks-worker.test.mjs.

import assert from 'node:assert/strict'
import { once } from 'node:events'

import { LeaseLostError, Reject, Release, Retry } from 'millpond'

import { onEveryBackend } from './support.mjs'

onEveryBackend('what becomes of a message', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name)
  const outcomes = {
    nothing: () => undefined,
    value: async () => ({ status: 'sent', changes: 7 }),
    modification: async () => ({ inserts: [{ queue: 'q' }] }),
    reject() { throw new Reject('no image') },
    returned: () => new Reject('returned'),
    retry() { throw new Retry('again', { delayMs: 0 }) },
    release() { throw new Release('', { delayMs: 0 }) },
    error() { throw new RangeError('of the application') },
    generator: function* () {}
  }
  await queue.writeMany(Object.keys(outcomes).map((n) => ['tenant', { n }]))
  const consumer = queue.consumer('workers', 'worker-1', { maxDeliveries: 3 })
  const worker = consumer.worker({ delete: true, backoffMs: 0, backoffMaxMs: 0, leaseMs: 60_000 })
  const failed = []
  const onError = (job, error) => failed.push([job.message.field('n'), error.message])
  const seen = []
  const drained = await worker.drain((job) => {
    const n = job.message.field('n')
    seen.push(n)
    if (seen.filter((one) => one === n).length > 1) return undefined
    return outcomes[n](job)
  }, { onError })
  assert.deepEqual(drained, { done: 7, retried: 4, dead: 2, others: 1 })
  assert.equal(seen.length, 14)
  const reasons = (await queue.deadLetters()).map(({ reason }) => reason).sort()
  assert.deepEqual(reasons, ['rejected: no image', 'rejected: returned'])
  assert.deepEqual(failed.map(([n]) => n).sort(), ['error', 'generator', 'modification', 'reject', 'returned'])
  assert.equal(await queue.len(), 0)
})

onEveryBackend('a message that a stop gives back', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name, { returnBuffers: true })
  await queue.write('tenant', { n: Buffer.from([0xff]) })
  const worker = queue.consumer('workers', 'worker-1').worker({ leaseMs: 60_000 })
  const seen = []
  await worker.run((job) => {
    const aborted = once(job.signal, 'abort').then(() => seen.push(job.isLost, job.signal.reason))
    assert.deepEqual(job.message.field('n'), Buffer.from([0xff]))
    worker.stop(20)
    return aborted
  }, { onError: assert.fail })
  await new Promise(setImmediate)
  assert.ok(seen[0] && seen[1] instanceof LeaseLostError)
  const other = queue.consumer('workers', 'worker-2')
  // That was no delivery.
  const again = await other.worker().drain((job) => assert.equal(job.message.deliveries, 1))
  assert.deepEqual(again, { done: 1, retried: 0, dead: 0, others: 0 })
})
