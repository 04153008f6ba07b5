// Works on what shuffle_producer.js writes, until Ctrl-C or SIGTERM.
//
// node examples/node/shuffle_consumer.js redis://localhost
//
// Any number of consumers may run, each with a name of its own. With the default, memory:, it works
// off a few messages of its own.

import assert from 'node:assert/strict'

import { connect } from 'millpond'

/** The work, which must be safe to do twice: a message is delivered at least once. */
async function print({ message }) {
  console.log('printing page', message.field('page'), 'for', message.field('tenant'))
}

const url = process.argv[2] ?? 'memory:'
const client = await connect(url)
const queue = client.shuffleQueue('{examples/jobs}')
const consumer = queue.consumer('printers', `printer-${process.pid}`, { maxDeliveries: 5 })

// A message is renewed while `print` runs, and then acknowledged and deleted. If it throws, the
// message is delivered again, later; one that was tried five times becomes a dead letter. What a
// consumer left that is gone is taken over after the lease, which all workers share.
const worker = consumer.worker({ leaseMs: 60_000, delete: true })
const onError = (job, error) => console.error(job?.message.id ?? 'the worker', error)
if (url === 'memory:') {
  await queue.writeMany(['ann', 'bob', 'cy'].map((tenant) => [tenant, { tenant, page: '1' }]))
  assert.equal((await worker.drain(print, { onError })).done, 3)
} else {
  // The first signal lets pages that are being printed be printed, for up to 25 s; a second one does not.
  await worker.run(print, { onError })
}

console.log(`${await queue.pendingCount('printers')} still with others`)
await client.close()
