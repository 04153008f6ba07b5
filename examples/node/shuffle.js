// What a shuffle queue is for: one tenant's burst does not delay the others, and what a worker that
// dies has taken is not lost.
//
// node examples/node/shuffle.js [URL]

import assert from 'node:assert/strict'

import { connect } from 'millpond'

const url = process.argv[2] ?? 'memory:'
const client = await connect(url)
const queue = client.shuffleQueue('{examples/shuffle}', { streams: 64, streamsPerShard: 4 })
const consumer = queue.consumer('workers', 'worker-1')
// What an interrupted earlier run left. Two at once would see each other's messages.
for (;;) {
  const { messages: left } = await consumer.reclaim(0, 1_000)
  if (left.length === 0) break
  await consumer.ackAndDelete(left)
}
for await (const batch of consumer.messages()) await consumer.ackAndDelete(batch)

// One tenant writes a thousand messages, and then another one writes one.
await queue.writeMany(Array(1_000).fill(['busy', { image: 'many.png' }]))
await queue.write('quiet', { image: 'one.png', size: '40x40' })

// The busy one has four of the streams, and consumers read from all that have messages, in turn:
// the quiet one's message is among the first five.
const first = await consumer.readMany(5)
const quiet = first.find((message) => message.field('image') === 'one.png')
assert.deepEqual(quiet.fields, [['image', 'one.png'], ['size', '40x40']])
console.log('the message of the quiet tenant had not to wait for a thousand others')

// worker-1 dies here, with five messages that it has not acknowledged. Another one reclaims them.
// In production the idle time is much longer than the longest job, not 0.
const other = queue.consumer('workers', 'worker-2', { maxDeliveries: 5 })
const { messages } = await other.reclaim(0, 100)
assert.equal(messages.length, 5)
assert.equal(messages[0].deliveries, 2)
assert.equal(await other.ackAndDelete(messages), 5)
console.log('what a worker had taken that died was taken over')

// Done is what is acknowledged.
for await (const batch of other.messages({ max: 500 })) await other.ackAndDelete(batch)
assert.equal(await queue.backlog(), 0)
await client.close()
