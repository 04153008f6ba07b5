// Writes messages of several tenants; run shuffle_consumer.js with the same URL to work on them.
//
// node examples/node/shuffle_producer.js redis://localhost
//
// Any number of producers may run. With the default, memory:, other programs do not see what is
// written.

import assert from 'node:assert/strict'

import { connect } from 'millpond'

const url = process.argv[2] ?? 'memory:'
const client = await connect(url)
// The braces tie all keys of the queue to one slot, for a cluster.
const queue = client.shuffleQueue('{examples/jobs}', {
  streams: 16,
  streamsPerShard: 4,
  trackKeys: 'queue'
})

// Many messages in one step, each for its tenant.
const jobs = []
for (const tenant of ['ann', 'bob', 'cy']) {
  for (const page of ['1', '2', '3']) jobs.push([tenant, { tenant, page }])
}
const receipts = await queue.writeMany(jobs)
assert.equal(receipts.length, 9)

// One that can be deleted by its number, delivered or not; a consumer that works on it is not
// stopped.
const job = `ann/4/${process.pid}`
await queue.writeTracked('ann', { tenant: 'ann', page: '4', job }, 'job')
const deleted = await queue.deleteTracked(job)
// A consumer may have been faster.
assert.ok(deleted !== null || url !== 'memory:')

assert.ok((await queue.backlog()) >= 9 || url !== 'memory:')
console.log(`${receipts.length} messages written`)
await client.close()
