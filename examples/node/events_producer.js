// Publishes webhooks, in order for each customer, and one for later; run events_worker.js with the same
// URL to deliver them.
//
// node examples/node/events_producer.js redis://localhost
//
// Any number of producers may run. With the default, memory:, other programs do not see what is published.

import assert from 'node:assert/strict'

import { connect } from 'millpond'

const url = process.argv[2] ?? 'memory:'
const client = await connect(url)
const queue = client.events('examples/webhooks')

// Those of a customer are delivered one after the other, in this order.
const webhook = (to, what) => JSON.stringify({ to, what })
const events = ['ann', 'bob'].flatMap((key) =>
  ['paid', 'packed', 'sent'].map((what) => ({ payload: webhook(key, what), key, headers: { version: '1' } }))
)
// One whose address does not exist, one for later, and one that is published once, however often this runs.
events.push({ payload: webhook('nobody', 'paid'), key: 'nobody' })
events.push({ payload: webhook('ann', 'reviewed?'), key: 'ann', delayMs: 500 })
events.push({ payload: webhook('all', 'welcome'), dedupId: 'welcome' })

const published = await queue.publishMany(events)
const created = published.filter(({ status }) => status === 'created').length
assert.ok(created === 9 || url !== 'memory:')
console.log(`${created} webhooks to deliver`)
await client.close()
