// What is not UTF-8 is no string; in a message it affects only that message's text.

import assert from 'node:assert/strict'
import { inspect } from 'node:util'

import { collect, numbersOf, onEveryBackend } from './support.mjs'

const BROKEN = Buffer.from([0xff, 0])
const UNREADABLE = {
  name: 'TypeError',
  code: 'ERR_ENCODING_INVALID_ENCODED_DATA',
  message: /is not UTF-8[^]*returnBuffers/
}

/** Messages of which the second and the third are no text. */
const MESSAGES = [
  ['tenant', { n: '1' }],
  ['tenant', new Map([['n', '2'], [BROKEN, 'é']])],
  ['tenant', [['n', BROKEN], ['n', '3'], ['m', '\ufeff3']]],
  ['tenant', { n: '4' }]
]

/** Reads all that can be read of these messages, and tries the rest. */
function readAll([first, second, third, fourth]) {
  assert.deepEqual([first.fields, fourth.fields], [[['n', '1']], [['n', '4']]])
  assert.deepEqual(first.bytes, [[Buffer.from('n'), Buffer.from('1')]])
  assert.throws(() => second.fields, UNREADABLE)
  assert.throws(() => third.fields, UNREADABLE)
  // A single value that is text can be read.
  assert.equal(second.field('n'), '2')
  assert.equal(second.field(BROKEN), 'é')
  assert.throws(() => third.field('n'), UNREADABLE)
  assert.equal(third.field('m'), '\ufeff3')
  assert.equal(third.field('other'), null)
  const bytes = (...strings) => strings.map((one) => Buffer.from(one))
  assert.deepEqual(second.bytes, [bytes('n', '2'), bytes(BROKEN, 'é')])
  assert.deepEqual(third.bytes, [bytes('n', BROKEN), bytes('n', '3'), bytes('m', '\ufeff3')])
}

onEveryBackend('every message is handed out', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name, { streams: 1 })
  const receipts = await queue.writeMany(MESSAGES)
  const consumer = queue.consumer('g', 'c')
  const read = await consumer.readMany(10)
  readAll(read)
  assert.deepEqual(read.map(({ stream, id }) => ({ stream, id })), receipts)
  assert.equal(await consumer.renew(read), 4)
  assert.equal(await consumer.ack([read[0], read[1]]), 2)
  assert.equal(await consumer.ackAndDelete(read[2]), 1)
  assert.equal(await queue.pendingCount('g'), 1)

  const other = queue.consumer('other', 'c')
  const [first, second] = [await other.read(), await other.read({ waitMs: 1000 })]
  assert.equal(first.field('n'), '1')
  assert.deepEqual(second.bytes, read[1].bytes)
  const loop = queue.consumer('loop', 'c').messages({ max: 2 })
  const batches = await collect(loop)
  assert.deepEqual(batches.map(numbersOf), [['1', '2'], ['4']])
})

onEveryBackend('a message that is no text in other hands', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name, { streams: 1 })
  await queue.write('tenant', { n: BROKEN })
  const message = await queue.consumer('g', 'c').read()
  // A copy without its fields would go unnoticed.
  assert.throws(() => structuredClone(message), UNREADABLE)
  assert.throws(() => JSON.stringify(message), UNREADABLE)
  assert.deepEqual(Object.keys(message), ['stream', 'id', 'fields', 'deliveries'])
  assert.match(inspect(message), /fields: \[Getter\]/)
  message.bytes[0][1].fill(0)
  assert.deepEqual(message.bytes, [[Buffer.from('n'), BROKEN]])
})

onEveryBackend('reclaim', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name, { streams: 1 })
  await queue.write('tenant', { n: '0' })
  const first = queue.consumer('g', 'first')
  await first.read()
  assert.equal((await queue.consumer('g', 'second').reclaim(0, 1)).messages.length, 1)
  const dead = (await queue.consumer('g', 'third', { maxDeliveries: 2 }).reclaim(0, 10)).dead
  await queue.writeMany(MESSAGES)
  assert.equal((await first.readMany(10)).length, 4)
  // One was delivered twice and is a dead letter now; the others are no worse for each other.
  const consumer = queue.consumer('g', 'third', { maxDeliveries: 3 })
  const { messages } = await consumer.reclaim(0, 10)
  assert.equal(dead, 1)
  readAll(messages)
  assert.deepEqual(messages.map((message) => message.deliveries), [2, 2, 2, 2])
  assert.equal(await consumer.ackAndDelete(messages), 4)
})

onEveryBackend('dead letters', async ({ connect, name }) => {
  const client = await connect()
  const queue = client.shuffleQueue(name, { streams: 1 })
  const dies = async (group, consumer) => {
    await queue.writeMany(MESSAGES)
    const options = { maxDeliveries: 1 }
    assert.equal((await queue.consumer(group, consumer, options).readMany(10)).length, 4)
    assert.equal((await queue.consumer(group, consumer, options).reclaim(0, 10)).dead, 4)
  }
  await dies('g', 'c')
  await dies(BROKEN, BROKEN)
  const letters = await queue.deadLetters()
  assert.equal(letters.length, 8)
  for (const some of [letters.slice(0, 4), letters.slice(4)]) {
    readAll(some.map((letter) => letter.message))
  }
  for (const { group, consumer, deliveries } of letters.slice(0, 4)) {
    assert.deepEqual([group, consumer, deliveries], ['g', 'c', 1])
  }
  for (const letter of letters.slice(4)) {
    assert.throws(() => letter.group, UNREADABLE)
    assert.throws(() => letter.consumer, UNREADABLE)
    assert.equal(letter.deliveries, 1)
  }
  const inBuffers = await client.shuffleQueue(name, { returnBuffers: true }).deadLetters()
  assert.deepEqual([inBuffers[4].group, inBuffers[4].consumer], [BROKEN, BROKEN])
  assert.deepEqual(inBuffers[2].message.fields, letters[2].message.bytes)
  assert.deepEqual(inBuffers[2].message.bytes, letters[2].message.bytes)
})
