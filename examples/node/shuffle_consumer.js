// Works on what shuffle_producer.js writes, until nothing has come for a second.
//
// node examples/node/shuffle_consumer.js redis://localhost
//
// Any number of consumers may run, each with a name of its own. With the default, memory:, it
// writes a few messages for itself first.

import assert from 'node:assert/strict'

import { connect } from 'millpond'

const url = process.argv[2] ?? 'memory:'
const client = await connect(url)
const queue = client.shuffleQueue('{examples/jobs}')
if (url === 'memory:') {
  await queue.writeMany(['ann', 'bob', 'cy'].map((tenant) => [tenant, { tenant, page: '1' }]))
}

const consumer = queue.consumer('printers', `printer-${process.pid}`, { maxDeliveries: 5 })

let printed = 0
async function print(message) {
  console.log('printing page', message.field('page'), 'for', message.field('tenant'))
  printed += 1
}

// What was delivered to others a minute ago and is not finished comes first. A message that was
// tried five times becomes a dead letter.
const { messages, dead } = await consumer.reclaim(60_000, 100)
for (const message of messages) {
  await print(message)
  await consumer.ackAndDelete(message)
}

// A message is done when it is acknowledged. An exception leaves the rest of the batch pending, and
// another consumer reclaims it: at least once.
for await (const batch of consumer.messages({ max: 10, waitMs: 1_000 })) {
  for (const message of batch) {
    await print(message)
    await consumer.ackAndDelete(message)
  }
}

assert.ok(printed === 3 || url !== 'memory:')
const pending = await queue.pendingCount('printers')
console.log(`${printed} pages, ${dead} given up, ${pending} still with others`)
await client.close()
