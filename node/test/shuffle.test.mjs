// What each call of a shuffle queue does, on every backend.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connect, Message, shard } from 'millpond'

import { startServers } from './servers.mjs'
import { collect, numbersOf, onEveryBackend, until } from './support.mjs'

onEveryBackend('write, read and acknowledge', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name)
  const receipt = await queue.write('tenant', { task: 'resize', image: 'é.png' })
  assert.deepEqual(Object.keys(receipt), ['stream', 'id'])
  assert.ok(shard(16, 2, 'tenant').includes(receipt.stream))
  assert.match(receipt.id, /^[0-9]{13}-0$/)

  const consumer = queue.consumer('workers', 'worker-1')
  const message = await consumer.read()
  assert.ok(message instanceof Message)
  assert.deepEqual({ ...message }, {
    ...receipt,
    fields: [['task', 'resize'], ['image', 'é.png']],
    deliveries: 1
  })
  assert.equal(message.field('image'), 'é.png')
  assert.equal(message.field(Buffer.from('task')), 'resize')
  assert.equal(message.field('nothing'), null)
  assert.throws(() => message.field(), { code: 'ERR_INVALID_ARG_TYPE' })
  assert.equal(await consumer.read(), null)

  assert.deepEqual([await queue.len(), await queue.backlog()], [1, 1])
  assert.equal(await queue.pendingCount('workers'), 1)
  assert.equal(await consumer.ack(message), 1)
  assert.equal(await consumer.ack(receipt), 0)
  assert.deepEqual([await queue.len(), await queue.backlog()], [1, 0])
  // Another group begins at the beginning.
  const other = queue.consumer(Buffer.from('others'), 'worker-1')
  assert.deepEqual(await other.read(), message)
  assert.equal(await other.ackAndDelete([message]), 1)
  assert.equal(await queue.len(), 0)
})

onEveryBackend('fields of every form', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name, { streams: 1 })
  const pairs = [['a', '1'], ['a', '2'], ['', '']]
  const forms = [
    { a: '1', b: Buffer.from('2') },
    new Map([['a', '1'], [Buffer.from('b'), new Uint8Array([50])]]),
    pairs,
    new URLSearchParams(pairs),
    (function* () {
      yield* pairs
    })()
  ]
  for (const form of forms) await queue.write('tenant', form)
  const read = await queue.consumer('g', 'c').readMany(10)
  const ab = [['a', '1'], ['b', '2']]
  assert.deepEqual(read.map((message) => message.fields), [ab, ab, pairs, pairs, pairs])
  assert.equal(read[2].field('a'), '1')
})

onEveryBackend('a generator that fills one Buffer again and again', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name, { streams: 1 })
  const buffer = Buffer.alloc(1)
  const refilled = function* (make) {
    for (const byte of Buffer.from('abc')) {
      buffer[0] = byte
      yield make(buffer)
    }
  }
  await queue.write('tenant', refilled((bytes) => ['n', bytes]))
  await queue.writeMany(refilled((bytes) => [bytes, [['n', 'x']]]))
  const [first] = await queue.consumer('g', 'c').readMany(10)
  assert.deepEqual(first.fields, [['n', 'a'], ['n', 'b'], ['n', 'c']])
})

onEveryBackend('a generator of messages that fills one Buffer', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name, { streams: 1 })
  const buffer = Buffer.alloc(1)
  const refilled = function* (make) {
    for (const byte of Buffer.from('123')) {
      buffer[0] = byte
      yield ['k', make(buffer)]
    }
  }
  await queue.writeMany(refilled((bytes) => [['n', bytes]]))
  await queue.writeMany(refilled((bytes) => ({ n: bytes })))
  await queue.writeMany(refilled((bytes) => new Map([['n', bytes]])))
  // The fields run on, the messages do not.
  await queue.writeMany([['k', (function* () {
    for (const [, bytes] of refilled((bytes) => bytes)) yield ['n', bytes]
  })()]])
  const read = await queue.consumer('g', 'c').readMany(10)
  assert.deepEqual(numbersOf(read.slice(0, 9)), ['1', '2', '3', '1', '2', '3', '1', '2', '3'])
  assert.deepEqual(read[9].fields, [['n', '1'], ['n', '2'], ['n', '3']])
})

onEveryBackend('many messages', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name, { streams: 64, streamsPerShard: 4 })
  const messages = Array.from({ length: 500 }, (_, number) => [
    `tenant-${number % 7}`,
    number % 2 ? { n: `${number}` } : [['n', `${number}`], ['more', 'of it']]
  ])
  const receipts = await queue.writeMany(messages)
  for (const [number, receipt] of receipts.entries()) {
    assert.ok(shard(64, 4, `tenant-${number % 7}`).includes(receipt.stream))
  }
  assert.deepEqual(await queue.writeMany([]), [])
  const consumer = queue.consumer('g', 'c')
  const read = [...(await consumer.readMany(400)), ...(await consumer.readMany(400))]
  const sorted = numbersOf(read).sort((a, b) => a - b)
  assert.deepEqual(sorted, messages.map((_, number) => `${number}`))
  assert.deepEqual(new Set(read.map(({ id, stream }) => `${stream}/${id}`)),
    new Set(receipts.map(({ id, stream }) => `${stream}/${id}`)))
  assert.deepEqual(read[0].fields.length, Number(read[0].field('n')) % 2 ? 1 : 2)
  assert.equal(await consumer.ackAndDelete(new Set(read)), 500)
  assert.equal(await queue.len(), 0)
})

onEveryBackend('stats', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name, { streams: 2, streamsPerShard: 2 })
  assert.deepEqual(await queue.stats('g'), {
    len: 0,
    pending: 0,
    lag: 0,
    streams: [{ len: 0, pending: 0, lag: 0, oldestIdleMs: null }]
  })
  const written = await queue.writeMany([1, 2, 3].map((number) => ['tenant', { n: `${number}` }]))
  const message = await queue.consumer('g', 'c').read()
  const stats = await queue.stats('g')
  const { oldestIdleMs } = stats.streams[message.stream]
  assert.ok(oldestIdleMs >= 0 && oldestIdleMs < 60_000)
  const streams = [0, 1].map((number) => {
    const len = written.filter(({ stream }) => stream === number).length
    const pending = number === message.stream ? 1 : 0
    return { len, pending, lag: len - pending, oldestIdleMs: pending ? oldestIdleMs : null }
  })
  assert.deepEqual(stats, { len: 3, pending: 1, lag: 2, streams })
})

onEveryBackend('reclaim, renew and dead letters', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name, { streams: 1 })
  const first = queue.consumer('g', 'first')
  await queue.writeMany([['tenant', { n: '1' }], ['tenant', { n: '2' }]])
  const taken = await first.readMany(10)
  assert.equal(await first.renew(taken), 2)
  const second = queue.consumer('g', 'second', { maxDeliveries: 3n })
  assert.deepEqual(await second.reclaim(60_000, 10), { messages: [], dead: 0 })
  const { messages, dead } = await second.reclaim(0, 10)
  assert.deepEqual([numbersOf(messages), dead], [['1', '2'], 0])
  assert.deepEqual(messages.map((message) => message.deliveries), [2, 2])
  assert.equal(await first.renew(taken), 0)
  assert.equal(await second.renew(messages[0]), 1)
  assert.equal(await second.ack(messages[0]), 1)
  const strict = queue.consumer('g', 'second', { maxDeliveries: 2 })
  assert.deepEqual(await strict.reclaim(0, 10), { messages: [], dead: 1 })
  const [letter, ...others] = await queue.deadLetters()
  assert.deepEqual(others, [])
  assert.match(letter.id, /^[0-9]{13}-[0-9]+$/)
  const { group, consumer, deliveries, message } = letter
  assert.deepEqual([group, consumer, deliveries], ['g', 'second', 2])
  assert.deepEqual({ ...message }, { ...taken[1], deliveries: 2 })
  assert.equal((await queue.deadLetters(1)).length, 1)
  assert.equal(await queue.pendingCount('g'), 0)
})

onEveryBackend('messages are rejected, redriven and released', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name)
  await queue.writeMany(['1', '2', '3'].map((n) => ['tenant', { n }]))
  const [consumer, other] = [queue.consumer('g', 'c'), queue.consumer('g', 'other')]
  const messages = await consumer.readMany(3)
  assert.equal(await other.reject(messages, 'rejected: not its own'), 0)
  assert.equal(await consumer.reject(messages[0], 'rejected: nö'), 1)
  assert.equal(await consumer.reject(messages.slice(0, 2), 'exhausted'), 1)
  const [first, second] = await queue.deadLetters()
  assert.deepEqual([first.reason, second.reason], ['rejected: nö', 'exhausted'])
  assert.deepEqual(await queue.deadLetters(9, { after: first }), [second])
  assert.deepEqual(await queue.deadLetters(9, { after: second.id }), [])
  assert.deepEqual(await consumer.ackEach(messages), [false, false, true])
  const redriven = await queue.redrive([second, second.id, first.id])
  assert.equal(redriven[1], null)
  assert.deepEqual(await queue.redrive(first), [null])
  const again = await consumer.readMany(9)
  assert.deepEqual(again.map(({ id }) => id).sort(), [redriven[0].id, redriven[2].id].sort())
  assert.equal(await consumer.release(again, 60_000), 2)
  const reclaimed = (await other.reclaim(60_000, 9)).messages
  assert.deepEqual(reclaimed.map(({ deliveries }) => deliveries), [1, 1])
  assert.equal(await other.release(reclaimed[0], 60_000, { delayMs: 30_000 }), 1)
  assert.deepEqual(await other.ackAndDeleteEach(reclaimed), [true, true])
  assert.deepEqual([await other.ackEach([]), await queue.removeIdleConsumers(60_000)], [[], 0])
  for (const wrong of ['', 'x'.repeat(4097)]) {
    await assert.rejects(consumer.reject(messages[0], wrong), { code: 'INVALID_ARGUMENT' })
  }
  await assert.rejects(consumer.reject(messages[0], 3), { code: 'ERR_INVALID_ARG_TYPE' })
  const delayed = consumer.release(messages[0], 1, { delayMs: 2 })
  await assert.rejects(delayed, { code: 'INVALID_ARGUMENT' })
  await assert.rejects(queue.deadLetters(9, { after: 3 }), { code: 'ERR_INVALID_ARG_TYPE' })
  await assert.rejects(queue.deadLetters(9, { after: 'x' }), { code: 'INVALID_ARGUMENT' })
})

onEveryBackend('dead letters stay until they are deleted', async ({ connect, name }) => {
  const client = await connect()
  const queue = client.shuffleQueue(name, { ttlMs: 60_000, deadTtlMs: 86_400_000 })
  await queue.writeMany(['1', '2', '3', '4'].map((n) => ['tenant', { n }]))
  const consumer = queue.consumer('g', 'c', { maxDeliveries: 1 })
  await consumer.readMany(4)
  assert.equal((await consumer.reclaim(0, 10)).dead, 4)
  const letters = await queue.deadLetters()
  assert.equal(letters.length, 4)
  assert.equal(await queue.deleteDeadLetters(letters[0]), 1)
  assert.equal(await queue.deleteDeadLetters(letters[1].id), 1)
  assert.equal(await queue.deleteDeadLetters(new Set([...letters, letters[3].id])), 2)
  assert.equal(await queue.deleteDeadLetters([]), 0)
  assert.deepEqual(await queue.deadLetters(), [])
  for (const wrong of [3, null, [3], [{}]]) {
    await assert.rejects(queue.deleteDeadLetters(wrong), { code: 'ERR_INVALID_ARG_TYPE' })
  }
  for (const wrong of ['x', ['1'], { id: '1' }]) {
    await assert.rejects(queue.deleteDeadLetters(wrong), { code: 'INVALID_ARGUMENT' })
  }
  const brief = client.shuffleQueue(name, { deadTtlMs: 1 }).consumer('g', 'c')
  await assert.rejects(brief.reclaim(0, 1), { code: 'INVALID_ARGUMENT' })
})

onEveryBackend('a queue keeps its size until it is resized', async ({ connect, name }) => {
  const client = await connect()
  await client.shuffleQueue(name, { streams: 5 }).write('t', { n: '1' })
  const refused = client.shuffleQueue(name, { streams: 3 }).write('t', { n: '2' })
  await assert.rejects(refused, { code: 'INVALID_ARGUMENT', message: /has 5 streams, .* given 3:/ })
  const queue = client.shuffleQueue(name)
  const streamOf = async () => (await queue.write('tenant', { n: '3' })).stream
  assert.ok(shard(5, 2, 'tenant').includes(await streamOf()))
  assert.equal(await queue.resize(64n), 64)
  assert.ok(shard(64, 2, 'tenant').includes(await streamOf()))
  assert.equal(await queue.resize(1), 64)
  assert.equal(await streamOf(), 0)
  await assert.rejects(queue.resize(0), { code: 'INVALID_ARGUMENT' })
})

onEveryBackend('strings or Buffers', async ({ connect, name }) => {
  const client = await connect({ returnBuffers: true })
  const buffers = client.shuffleQueue(Buffer.from(name), { streams: 1 })
  const strings = client.shuffleQueue(name, { streams: 1, returnBuffers: false })
  await buffers.writeMany([['tenant', { n: 'é' }], ['tenant', { n: 'ü' }]])
  const message = await buffers.consumer('g', 'c', { maxDeliveries: 1 }).read()
  assert.deepEqual(message.fields, [[Buffer.from('n'), Buffer.from('é')]])
  assert.deepEqual(message.field('n'), Buffer.from('é'))
  assert.deepEqual(message.field(Buffer.from('n')), Buffer.from('é'))
  assert.deepEqual((await strings.consumer('g', 'c').read()).fields, [['n', 'ü']])
  assert.equal((await strings.consumer('g', 'c', { maxDeliveries: 1 }).reclaim(0, 10)).dead, 2)
  const [letter] = await buffers.deadLetters()
  assert.deepEqual([letter.group, letter.consumer], [Buffer.from('g'), Buffer.from('c')])
  assert.deepEqual((await strings.deadLetters())[1].message.fields, [['n', 'ü']])
})

onEveryBackend('settings that no queue can have', async ({ connect, name }) => {
  const client = await connect()
  for (const [options, message] of [
    [{ streams: 0 }, /has 1 to 65536 streams, not 0/],
    [{ streams: 2, streamsPerShard: 3 }, /2 of the queue's 2 streams, not 3/],
    [{ ttlMs: 999 }, /between a second and 100 years/],
    [{ ttlMs: Infinity }, /between a second and 100 years/]
  ]) {
    const written = client.shuffleQueue(name, options).write('tenant', { n: '1' })
    await assert.rejects(written, { code: 'INVALID_ARGUMENT', message })
  }
  const queue = client.shuffleQueue(name)
  const empty = { code: 'INVALID_ARGUMENT', message: /empty/ }
  await assert.rejects(client.shuffleQueue('').len(), empty)
  await assert.rejects(queue.write('', { n: '1' }), empty)
  await assert.rejects(queue.consumer('', 'c').read(), empty)
  await assert.rejects(queue.consumer('g', '').read(), empty)
  const none = /message 1 has 0 fields/
  await assert.rejects(queue.writeMany([['a', { n: '1' }], ['a', {}]]), none)
  await assert.rejects(queue.consumer('g', 'c').readMany(0), /takes 1 to 10000 messages, not 0/)
  await assert.rejects(queue.consumer('g', 'c').messages({ max: 10_001 }).next(), /not 10001/)
  const far = { stream: 0, id: '1-99999999999999999999' }
  await assert.rejects(queue.consumer('g', 'c').ack(far), /the form of 1700000000000-0/)
  assert.equal(await queue.len(), 0)
})

/** Writes messages with these numbers. */
async function write(queue, ...numbers) {
  await queue.writeMany(numbers.map((number) => ['tenant', { n: `${number}` }]))
}

onEveryBackend('a loop ends when there is nothing left', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name, { streams: 1 })
  await write(queue, 1, 2, 3, 4, 5)
  const consumer = queue.consumer('g', 'c')
  const batches = await collect(consumer.messages({ max: 2 }))
  assert.deepEqual(batches.map(numbersOf), [['1', '2'], ['3', '4'], ['5']])
  // Nothing is done until it is acknowledged.
  assert.equal(await queue.pendingCount('g'), 5)
})

onEveryBackend('a loop that is left keeps nothing from others', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name, { streams: 1 })
  await write(queue, 1, 2)
  const consumer = queue.consumer('g', 'c')
  await assert.rejects(async () => {
    for await (const _ of consumer.messages({ max: 1 })) throw new RangeError('in the handler')
  }, RangeError)
  for await (const batch of consumer.messages({ max: 1 })) {
    assert.deepEqual(numbersOf(batch), ['2'])
    break
  }
  const { messages } = await queue.consumer('g', 'other').reclaim(0, 10)
  assert.deepEqual(numbersOf(messages), ['1', '2'])
})

test('a read that is aborted on its way leaves its message pending', async () => {
  const server = await startServers()
  const client = await connect(server.url, { timeoutMs: 60_000 })
  const queue = client.shuffleQueue('jobs')
  await write(queue, 1)
  await server.run('stop')
  const controller = new AbortController()
  const reading = queue.consumer('g', 'c').read({ signal: controller.signal })
  controller.abort()
  await assert.rejects(reading, { name: 'AbortError' })
  await server.run('cont')
  await until(async () => (await queue.pendingCount('g')) === 1, 'it is taken')
  const { messages } = await queue.consumer('g', 'other').reclaim(0, 10)
  assert.deepEqual(numbersOf(messages), ['1'])
  await client.close()
  await server.stop()
})
