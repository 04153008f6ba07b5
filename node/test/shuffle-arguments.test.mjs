// Wrong arguments are refused before anything is sent, with the name and the index.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connect, shard } from 'millpond'

import { allRefused, onEveryBackend, refused } from './support.mjs'

const BYTES = 'has to be a string or a Uint8Array'
const RECEIPT = { stream: 0, id: '1-1' }

const CALLS = [
  [({ queue }) => queue.write(), `shardKey ${BYTES}`, TypeError],
  [({ queue }) => queue.write(7, { a: '1' }), `shardKey ${BYTES}, such as a Buffer, not a number`, TypeError],
  [({ queue }) => queue.write('\ud800', { a: '1' }), 'shardKey has half a surrogate pair'],
  [({ queue }) => queue.write('t'), 'fields has to be an iterable, such as an array, not undefined', TypeError],
  [({ queue }) => queue.write('t', null), 'fields has to be an iterable, such as an array, not null', TypeError],
  [({ queue }) => queue.write('t', 'ab'), 'fields has to be an iterable', TypeError],
  [({ queue }) => queue.write('t', Buffer.from('ab')), 'not Buffer', TypeError],
  [({ queue }) => queue.write('t', new Uint16Array(2)), 'not Uint16Array', TypeError],
  [({ queue }) => queue.write('t', 5), 'fields has to be an iterable, such as an array, not a number', TypeError],
  [({ queue }) => queue.write('t', {}), 'message 0 has 0 fields; 1 to 32768 are allowed'],
  [({ queue }) => queue.write('t', new Map()), 'message 0 has 0 fields'],
  [({ queue }) => queue.write('t', { a: 1 }), `fields[0][1] ${BYTES}, such as a Buffer, not a number`, TypeError],
  [({ queue }) => queue.write('t', { a: '1', b: null }), `fields[1][1] ${BYTES}`, TypeError],
  [({ queue }) => queue.write('t', { a: undefined }), `fields[0][1] ${BYTES}`, TypeError],
  [({ queue }) => queue.write('t', ['ab']), 'fields[0] has to be [field, value]', TypeError],
  [({ queue }) => queue.write('t', [['a', '1'], ['b']]), 'fields[1] has to be [field, value]', TypeError],
  [({ queue }) => queue.write('t', [['a', '1', 'b']]), 'fields[0] has to be [field, value]', TypeError],
  [({ queue }) => queue.write('t', [[{}, '1']]), `fields[0][0] ${BYTES}, such as a Buffer, not Object`, TypeError],
  [({ queue }) => queue.write('t', { a: '\udc80' }), 'fields[0][1] has half a surrogate pair'],
  [({ queue }) => queue.writeMany({ t: { a: '1' } }), 'messages has to be an iterable', TypeError],
  [({ queue }) => queue.writeMany(['t']), 'messages[0] has to be [shardKey, fields]', TypeError],
  [({ queue }) => queue.writeMany([['t', { a: '1' }], ['t']]), 'messages[1] has to be [shardKey', TypeError],
  [({ queue }) => queue.writeMany([['t', { a: '1' }], [1, {}]]), `messages[1][0] ${BYTES}`, TypeError],
  [({ queue }) => queue.writeMany([['t', 'ab']]), 'messages[0][1] has to be an iterable', TypeError],
  [({ queue }) => queue.writeMany([['t', { a: 1 }]]), `messages[0][1][0][1] ${BYTES}`, TypeError],
  [({ queue }) => queue.pendingCount(), `group ${BYTES}`, TypeError],
  [({ queue }) => queue.stats(5), `group ${BYTES}`, TypeError],
  [({ queue }) => queue.deadLetters('1'), 'max has to be a whole number, not a string', TypeError],
  [({ queue }) => queue.deadLetters(0), '1 to 10000 dead letters, not 0'],
  [({ queue }) => queue.deadLetters(2 ** 40), '1 to 10000 dead letters, not 1099511627776'],
  [({ consumer }) => consumer.read({ block: 1 }), 'the option block is not known; there is waitMs'],
  [({ consumer }) => consumer.readMany(), 'max has to be a whole number, not undefined', TypeError],
  [({ consumer }) => consumer.readMany(1.5), 'max has to be a whole number, not 1.5'],
  [({ consumer }) => consumer.readMany(-1), 'max is negative'],
  [({ consumer }) => consumer.readMany(10_001), 'takes 1 to 10000 messages, not 10001'],
  [({ consumer }) => consumer.readMany(0, { waitMs: 1 }), 'takes 1 to 10000 messages, not 0'],
  [({ consumer }) => consumer.ack(), 'messages has to be an iterable, such as an array', TypeError],
  [({ consumer }) => consumer.ack('1-1'), 'messages has to be an iterable', TypeError],
  [({ consumer }) => consumer.ack({ stream: 0 }), 'messages has to be an iterable', TypeError],
  [({ consumer }) => consumer.ack(['1-1']), 'messages[0] has to be a message or a receipt', TypeError],
  [({ consumer }) => consumer.ack([RECEIPT, null]), 'messages[1] has to be a message or a receipt', TypeError],
  [({ consumer }) => consumer.ack({ ...RECEIPT, id: '1' }), 'messages.id has to have the form'],
  [({ consumer }) => consumer.ack([{ ...RECEIPT, id: '1-+1' }]), 'messages[0].id has to have the form'],
  [({ consumer }) => consumer.ack({ id: '1-1' }), 'messages.stream has to be a whole number', TypeError],
  [({ consumer }) => consumer.ack([{ ...RECEIPT, stream: -1 }]), 'messages[0].stream is negative'],
  [({ consumer }) => consumer.renew([[0, '1-1']]), 'messages[0] has to be a message or a receipt', TypeError],
  [({ consumer }) => consumer.ackAndDelete(null), 'messages has to be an iterable', TypeError],
  [({ consumer }) => consumer.reclaim('1', 1), 'minIdleMs has to be a number of milliseconds', TypeError],
  [({ consumer }) => consumer.reclaim(-1, 1), 'minIdleMs is -1'],
  [({ consumer }) => consumer.reclaim(Infinity, 1), 'idle time is over 100 years'],
  [({ consumer }) => consumer.reclaim(0), 'max has to be a whole number, not undefined', TypeError],
  [({ consumer }) => consumer.reclaim(0, 0), 'takes 1 to 10000 messages, not 0']
]

onEveryBackend('calls', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name)
  const consumer = queue.consumer('g', 'c')
  await allRefused(CALLS, { queue, consumer })
  assert.equal(await queue.len(), 0)
  assert.deepEqual([await consumer.ack([]), await consumer.renew(new Set())], [0, 0])
})

test('handles', async () => {
  const client = await connect('memory:')
  const queue = client.shuffleQueue('x')
  const consumer = queue.consumer('g', 'c')
  for (const [call, message, Kind] of [
    [() => client.shuffleQueue('x', { ttl: 1 }), 'the option ttl is not known; there is streams, '],
    [() => client.shuffleQueue('x', { streams: '4' }), 'streams has to be a whole number', TypeError],
    [() => client.shuffleQueue('x', { streams: 2 ** 32 }), 'streams is 4294967296, which is too'],
    [() => client.shuffleQueue('x', { streamsPerShard: -1 }), 'streamsPerShard is negative'],
    [() => client.shuffleQueue('x', { ttlMs: '1' }), 'ttlMs has to be a number of milliseconds', TypeError],
    [() => client.shuffleQueue('x', { returnBuffers: 1 }), 'returnBuffers has to be true or false', TypeError],
    [() => queue.consumer(), `group ${BYTES}`, TypeError],
    [() => queue.consumer('g'), `consumer ${BYTES}`, TypeError],
    [() => queue.consumer('g', 5), `consumer ${BYTES}`, TypeError],
    [() => queue.consumer('g', 'c', { preferStream: 'x' }), 'preferStream has to be a whole number', TypeError],
    [() => queue.consumer('g', 'c', { defaultStream: 1 }), 'defaultStream has to be true or false', TypeError],
    [() => queue.consumer('g', 'c', { maxDeliveries: -1 }), 'maxDeliveries is negative'],
    [() => queue.consumer('g', 'c', { max: 1 }), 'the option max is not known; there is prefer'],
    [() => consumer.messages({ max: 1.5 }), 'max has to be a whole number'],
    [() => consumer.messages({ wait: 1 }), 'the option wait is not known; there is max, waitMs'],
    [() => shard('16', 4, 'tuna'), 'streams has to be a whole number', TypeError],
    [() => shard(16, -1, 'tuna'), 'streamsPerShard is negative'],
    [() => shard(16, 4), `shardKey ${BYTES}`, TypeError],
    [() => shard(16, 4, ''), 'the shard key is empty'],
    [() => shard(4, 5, 'tuna'), "4 of the queue's 4 streams, not 5"],
    [() => shard(0, 1, 'tuna'), '1 to 65536 streams, not 0']
  ]) {
    assert.throws(call, refused(message, Kind))
  }
  const many = queue.consumer('g', 'c', { maxDeliveries: 10n ** 15n }).reclaim(0, 1)
  await assert.rejects(many, refused('the most deliveries are above 10^14'))
})

test('the shard of a tenant', () => {
  assert.deepEqual(shard(16, 4, 'tuna'), [15, 13, 2, 12])
  assert.deepEqual(shard(16, 4, Buffer.from('tuna')), [15, 13, 2, 12])
  assert.deepEqual(shard(16n, 4n, 'tuna'), [15, 13, 2, 12])
  assert.deepEqual(shard(1, 1, 'anybody'), [0])
  assert.equal(new Set(shard(65_536, 65_536, 'x')).size, 65_536)
})

onEveryBackend('sizes are numbers or bigints', async ({ connect, name }) => {
  const client = await connect()
  const sizes = { streams: 2n, streamsPerShard: 1n }
  const queue = client.shuffleQueue(name, { ...sizes, trackKeys: 'queue' })
  const { stream } = await queue.write('tenant', { n: '1' })
  assert.deepEqual([stream], shard(2, 1, 'tenant'))
  const consumer = queue.consumer('g', 'c', { preferStream: 1n, maxDeliveries: 9n })
  assert.equal((await consumer.readMany(1n)).length, 1)
  assert.equal((await consumer.reclaim(0, 1n)).messages.length, 1)
  assert.equal((await consumer.messages({ max: 1n }).next()).done, true)
  assert.deepEqual(await queue.deadLetters(1n), [])
  assert.equal((await queue.gc({ timeDigits: 6n }).next()).done, true)
})

onEveryBackend('an iterable that throws', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name)
  const broken = function* (value) {
    yield value
    throw new RangeError('in the iterable')
  }
  await assert.rejects(queue.write('t', broken(['a', '1'])), RangeError)
  await assert.rejects(queue.writeMany(broken(['t', { a: '1' }])), RangeError)
  await assert.rejects(queue.consumer('g', 'c').ack(broken(RECEIPT)), RangeError)
  assert.equal(await queue.len(), 0)
})
