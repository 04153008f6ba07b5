// Delivers what events_producer.js publishes, until Ctrl-C or SIGTERM.
//
// node examples/node/events_worker.js redis://localhost
//
// Any number of workers may run. With the default, memory:, it delivers a few webhooks of its own.

import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'

import { connect, Reject, Retry } from 'millpond'

/** Delivers a webhook. The customer's next one comes when this one has ended. */
async function deliver({ event, signal }) {
  // When the lease is lost this stops, and the event is another worker's.
  signal.throwIfAborted()
  const key = event.key.toString()
  if (key === 'nobody') throw new Reject('no such address')
  // A server that is busy is asked again: what fails is put off, each time longer, and holds up its own
  // customer only.
  if (key === 'bob' && event.attempts === 1) throw new Retry("bob's server is busy", { delayMs: 20 })
  const { to, what } = JSON.parse(event.payload)
  console.log(`deliver to ${to}: ${what}`)
}

const url = process.argv[2] ?? 'memory:'
const client = await connect(url)
const queue = client.events('examples/webhooks')
const worker = queue.worker({ concurrency: 4 })

if (url === 'memory:') {
  for (const key of ['ann', 'bob', 'nobody']) {
    await queue.publish(JSON.stringify({ to: key, what: 'paid' }), { key })
  }
  const { done, dead } = await worker.drain(deliver)
  assert.deepEqual([done, dead], [1, 1])
  await setTimeout(30)
  assert.equal((await worker.drain(deliver)).done, 1)
} else {
  // The first signal lets webhooks that are being delivered be delivered, for up to 25 s; a second one
  // does not.
  await worker.run(deliver)
}

console.log(`${(await queue.stats()).dead} webhooks could not be delivered`)
await client.close()
