// Tracked messages: deleted by a value, and collected when their deadline has passed. The
// queues keep their records in keys of their own, unless a test is about the others.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connect } from 'millpond'
import { Redis } from 'ioredis'

import { startServers } from './servers.mjs'
import { allRefused, collect, numbersOf, onEveryBackend, reusableSignal } from './support.mjs'

const LONG_AGO = 1_000_000_000

function open(client, name, options) {
  return client.shuffleQueue(name, { trackKeys: 'queue', ...options })
}

/** Writes a message for each value, which is in its field `id`. */
async function track(queue, values, deadline) {
  for (const value of values) await queue.writeTracked('tenant', { id: value }, 'id', { deadline })
}

onEveryBackend('a message is deleted by its value', async ({ connect, name }) => {
  const queue = open(await connect(), name)
  const receipt = await queue.writeTracked('tenant', { id: 'é', n: '1' }, 'id')
  await queue.write('tenant', { n: '2' })
  assert.deepEqual(await queue.deleteTracked('é'), receipt)
  assert.equal(await queue.deleteTracked('é'), null)
  const bytes = Buffer.from([0xff])
  await queue.writeTracked('tenant', [[bytes, bytes], ['n', '3']], bytes)
  assert.match((await queue.deleteTracked(bytes)).id, /^[0-9]+-[0-9]+$/)
  // Without the field it is written and not tracked.
  await queue.writeTracked('tenant', { n: '4' }, 'id')
  const consumer = queue.consumer('g', 'c')
  assert.deepEqual(numbersOf(await consumer.readMany(10)).sort(), ['2', '4'])
})

onEveryBackend('many are tracked in one step', async ({ connect, name }) => {
  const queue = open(await connect(), name)
  const messages = ['1', '2', '3'].map((n) => [`tenant ${n}`, { id: `v${n}` }])
  const receipts = await queue.writeTrackedMany(new Set(messages), 'id')
  assert.deepEqual(await queue.deleteTracked('v2'), receipts[1])
  assert.equal(await queue.len(), 2)
  await queue.writeTrackedMany(messages, Buffer.from('id'), { deadline: new Date(1_000) })
  const values = (await collect(queue.gc())).flat()
  assert.deepEqual(values.sort(), ['v1', 'v2', 'v3'])
  await assert.rejects(queue.writeTrackedMany(messages, ''), { code: 'INVALID_ARGUMENT' })
  await assert.rejects(queue.writeTrackedMany([['t']], 'id'), { code: 'ERR_INVALID_ARG_TYPE' })
})

onEveryBackend('deadlines', async ({ connect, name }) => {
  const queue = open(await connect(), name)
  const ago = (seconds) => new Date(Date.now() - seconds * 1000)
  await track(queue, ['old'], ago(1_000))
  await track(queue, ['second'], ago(20))
  await track(queue, ['first'], Math.floor(Date.now() / 1000) - 25)
  await track(queue, ['later'], ago(-1_000))
  await track(queue, ['last'], 2n ** 53n)
  await track(queue, ['by its ttl'], undefined)
  assert.deepEqual(await queue.cordonDeadlineExceeded(100_000), ['first', 'second'])
  assert.deepEqual(await queue.cordonDeadlineExceeded(100_000), [])
  const garbage = queue.gc()
  const values = (await collect(garbage)).flat()
  assert.deepEqual(values.sort(), ['first', 'old', 'second'])
  assert.equal(garbage.deleted, 3)
  assert.ok(garbage.scanned >= 3)
  assert.equal(await queue.deleteTracked('old'), null)
  assert.notEqual(await queue.deleteTracked('later'), null)
  assert.notEqual(await queue.deleteTracked('last'), null)
  assert.notEqual(await queue.deleteTracked('by its ttl'), null)
  assert.equal(await queue.len(), 3, 'the messages stay')
  assert.deepEqual(await collect(queue.gc({ timeDigits: 10 })), [])
  await assert.rejects(queue.gc({ timeDigits: 11 }).next(), /1 to 10 first digits/)
  await assert.rejects(queue.gc({ timeDigits: 300 }).next(), /1 to 10 first digits/)
})

onEveryBackend('a deadline at the epoch', async ({ connect, name }) => {
  const queue = open(await connect(), name)
  const passed = { epoch: 0, 'just before': -1, 'within the second': -500, 'a second before': -1000 }
  for (const [value, ms] of Object.entries(passed)) await track(queue, [value], new Date(ms))
  // As a number it means that there is none.
  await track(queue, ['0'], 0)
  await track(queue, ['-0'], -0)
  await track(queue, ['0n'], 0n)
  const values = (await collect(queue.gc())).flat()
  assert.deepEqual(values.sort(), Object.keys(passed).sort())
  for (const value of ['0', '-0', '0n']) assert.notEqual(await queue.deleteTracked(value), null)
})

onEveryBackend('asking for the next batch deletes the last', async ({ connect, name }) => {
  const queue = open(await connect(), name)
  await track(queue, ['a', 'b', 'c'], LONG_AGO)
  const left = queue.gc()
  for await (const _ of left) break
  assert.equal(left.deleted, 0)
  assert.deepEqual(await left.next(), { done: true, value: undefined })
  await assert.rejects(async () => {
    for await (const _ of queue.gc()) throw new RangeError('in the handler')
  }, RangeError)
  const garbage = queue.gc()
  const values = (await collect(garbage)).flat()
  assert.deepEqual([values.sort(), garbage.deleted], [['a', 'b', 'c'], 3])
  assert.deepEqual(await collect(queue.gc()), [])
})

onEveryBackend('strings or Buffers', async ({ connect, name }) => {
  const client = await connect()
  const queue = open(client, name)
  const broken = Buffer.from([0xff, 0])
  await track(queue, [broken], Math.floor(Date.now() / 1000) - 10)
  const notText = { name: 'TypeError', code: 'ERR_ENCODING_INVALID_ENCODED_DATA' }
  const garbage = queue.gc()
  await assert.rejects(garbage.next(), notText)
  // No caller has received the batch, so nothing may delete it.
  assert.equal((await garbage.next()).done, true)
  assert.equal(garbage.deleted, 0)
  // What is cordoned is not returned again, so that one is a Buffer, and the others are not.
  await track(queue, ['é'], Math.floor(Date.now() / 1000) - 5)
  const cordoned = await queue.cordonDeadlineExceeded(60_000)
  assert.deepEqual(cordoned, [broken, 'é'])
  assert.deepEqual(await queue.cordonDeadlineExceeded(60_000), [])
  const buffers = open(client, name, { returnBuffers: true })
  const seen = (await collect(buffers.gc())).flat()
  assert.ok(seen.length >= 2)
  assert.ok(seen.every((value) => value.equals(broken) || value.equals(Buffer.from('é'))))
  assert.deepEqual(await collect(buffers.gc()), [])
})

onEveryBackend('an abort ends a collection', async ({ connect, name }) => {
  const queue = open(await connect(), name)
  await track(queue, ['a', 'b'], LONG_AGO)
  const controller = new AbortController()
  const garbage = queue.gc({ signal: controller.signal })
  const asked = garbage.next()
  controller.abort()
  await assert.rejects(asked, { name: 'AbortError' })
  await assert.rejects(garbage.next(), { name: 'AbortError' })
  assert.equal(garbage.deleted, 0)
  // No caller has received them, and another one collects them.
  assert.deepEqual((await collect(queue.gc())).flat().sort(), ['a', 'b'])
})

onEveryBackend('a batch that comes too late is for the next', async ({ connect, name }) => {
  const queue = open(await connect(), name)
  await track(queue, ['a'], LONG_AGO)
  const signal = reusableSignal()
  const garbage = queue.gc({ signal })
  const asked = garbage.next()
  signal.abort()
  await assert.rejects(asked, { name: 'AbortError' })
  assert.equal(garbage.deleted, 0)
  assert.deepEqual((await garbage.next()).value, ['a'])
  assert.equal((await garbage.next()).done, true)
  assert.equal(garbage.deleted, 1)
})

onEveryBackend('wrong arguments', async ({ connect, name }) => {
  const client = await connect()
  const queue = open(client, name)
  const write = (deadline) => queue.writeTracked('t', { id: '1' }, 'id', { deadline })
  const wrong = 'has to be a Date or a whole number of seconds since the Unix epoch'
  await allRefused([
    [() => write(1.5), wrong],
    [() => write('1'), wrong, TypeError],
    [() => write(null), wrong, TypeError],
    [() => write(new Date(NaN)), wrong],
    [() => write(2n ** 53n + 1n), wrong],
    [() => write(2n ** 54n), 'a deadline is up to 2^53 seconds from the epoch'],
    [() => write(2 ** 53), wrong],
    [() => write(-1e300), wrong],
    [() => queue.writeTracked('t', { id: '1' }), 'trackField has to be a string or a Uint8Array', TypeError],
    [() => queue.writeTracked('t', { id: '1' }, ''), 'the field that tracks messages has no name'],
    [() => queue.writeTracked('t', {}, 'id'), 'message 0 has 0 fields'],
    [() => queue.deleteTracked(5), 'value has to be a string or a Uint8Array', TypeError],
    [() => queue.cordonDeadlineExceeded(), 'withinMs has to be a number of milliseconds', TypeError],
    [() => queue.cordonDeadlineExceeded(-1), 'withinMs is -1']
  ])
  assert.throws(() => queue.gc({ digits: 1 }), /there is timeDigits, signal/)
  assert.throws(() => queue.gc({ timeDigits: '1' }), /timeDigits has to be a whole number/)
  const unknown = /trackKeys is 'all'; it has to be 'global' or 'queue'/
  assert.throws(() => open(client, name, { trackKeys: 'all' }), unknown)
  const garbage = queue.gc()
  const asked = garbage.next()
  await assert.rejects(garbage.next(), { code: 'INVALID_ARGUMENT', message: /requested already/ })
  assert.equal((await asked).done, true)
  assert.equal(await queue.len(), 0)
})

test('the keys of the records', async () => {
  const server = await startServers()
  const client = await connect(server.url)
  const redis = new Redis(server.url)
  const queue = client.shuffleQueue('jobs')
  await queue.writeTracked('tenant', { id: 'a' }, 'id')
  assert.equal(await redis.hexists('meta:cancelation', 'a'), 1)
  // It is found from another queue.
  assert.notEqual(await client.shuffleQueue('others').deleteTracked('a'), null)
  await open(client, 'jobs').writeTracked('tenant', { id: 'a' }, 'id')
  assert.equal(await redis.hexists('jobs:meta:cancelation', 'a'), 1)
  assert.equal(await queue.deleteTracked('a'), null)
  redis.disconnect()
  await client.close()
  await server.stop()
})
