// Workers of shuffle queues, on every backend; what they share with other workers is in running.test.mjs.

import assert from 'node:assert/strict'

import { Reject, Release, Retry } from 'millpond'

import { onEveryBackend } from './support.mjs'

onEveryBackend('what becomes of a message', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name)
  const outcomes = {
    nothing: () => undefined,
    value: async () => ({ status: 'sent', rows: 7 }),
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
