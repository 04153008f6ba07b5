// What each call does, on every backend.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import path from 'node:path'
import { test } from 'node:test'

import { connect, InvalidArgumentError, LeaseLostError } from 'millpond'
import { Redis } from 'ioredis'

import { sharedServer } from './servers.mjs'
import { collect, directory, membersOf, newName, onEveryBackend, RENEWING, until } from './support.mjs'

onEveryBackend('add, reserve and commit', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  const pairs = [
    [2, 'b'],
    [1.5, Buffer.from('a')],
    [9, 'c']
  ]
  assert.deepEqual(await ick.add(pairs), { new: 3, lowered: 0 })
  assert.deepEqual(await ick.add(new Map([[1, 'c'], [5, 'a']])), { new: 0, lowered: 1 })
  assert.deepEqual(await ick.reserve(2), [['c', 1], ['a', 1.5]])
  await ick.add([[7, 'c']])
  assert.equal(await ick.commit(new Set(['c', 'a', 'nobody'])), 2)
  assert.deepEqual(await ick.reserve(10n), [['b', 2], ['c', 7]])
  assert.deepEqual(await ick.reserve(0), [])
})

onEveryBackend('a score that is left out is the time', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  await ick.add(['a', Buffer.from('b'), [null, 'c'], [1, 'e']])
  const scores = new Map(await ick.peek(10))
  assert.equal(scores.get('e'), 1)
  scores.delete('e')
  assert.equal(scores.size, 3)
  for (const score of scores.values()) assert.ok(Math.abs(score - Date.now() / 1000) < 60)
})

onEveryBackend('every score comes back as it was', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  const scores = [-Infinity, -1.5, -5e-324, 0, 0.1 + 0.2, 2 ** 53, 1.7976931348623157e308, Infinity]
  await ick.add(scores.map((score, index) => [score, `${index}`]))
  assert.deepEqual((await ick.reserve(10)).map(([, score]) => score), scores)
})

onEveryBackend('every kind of bytes', async ({ connect, name }) => {
  const client = await connect()
  const members = [
    'é𝄞',
    '',
    'a\0b',
    'x'.repeat(300),
    'é'.repeat(126),
    'é'.repeat(200),
    Buffer.from([0xff, 0]),
    new Uint8Array([1, 2, 3]).subarray(1),
    new Uint8Array(new SharedArrayBuffer(2)),
    new Uint8Array()
  ]
  const distinct = members.slice(0, -1) // the last is the empty string once more
  const ick = client.ick(Buffer.from(name), { returnBuffers: true })
  const added = await ick.add(members.map((member, index) => [index, member]))
  assert.equal(added.new, distinct.length)
  const found = membersOf(await ick.reserve(20))
  assert.ok(found.every(Buffer.isBuffer))
  assert.deepEqual(found, distinct.map((member) => Buffer.from(member)))
  assert.equal(await ick.commit(members), distinct.length)
})

onEveryBackend('strings or Buffers', async ({ connect, name }) => {
  const client = await connect({ returnBuffers: true })
  const buffers = client.ick(name)
  await buffers.add([[1, 'é']])
  assert.deepEqual(await buffers.reserve(1), [[Buffer.from('é'), 1]])
  const stats = await buffers.stats()
  assert.equal(stats.ver, 'ick.v1')
  assert.deepEqual(stats.key, Buffer.from(name))
  const strings = client.ick(name, { returnBuffers: false })
  assert.deepEqual(await strings.reserve(1), [['é', 1]])
  assert.equal((await strings.stats()).csetKey, `${name}/ick/{${name}}/cset`)
  const channel = client.ickChannel(name, 1, { returnBuffers: false })
  await channel.add([[1, 'c']])
  assert.deepEqual(await channel.ick(0).peek(1), [['c', 1]])
})

onEveryBackend('what is not UTF-8 is no string', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  await ick.add([[0, Buffer.from([0xff])]])
  const notText = { name: 'TypeError', code: 'ERR_ENCODING_INVALID_ENCODED_DATA' }
  await assert.rejects(ick.peek(1), notText)
  const batches = ick.batches(10)
  await assert.rejects(batches.next(), notText)
  // No caller has received the batch, so nothing may commit it.
  assert.equal((await batches.next()).done, true)
  assert.equal(await batches.commit(), 0)
  assert.equal((await ick.stats()).csetSize, 1)
})

onEveryBackend('exchange and backwash', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  await ick.add([[5, 'e'], [6, 'f']])
  assert.deepEqual(await ick.exchange(1), [['e', 5]])
  await ick.add([[1, 'a']])
  assert.deepEqual(await ick.reserve(1), [['e', 5]])
  assert.deepEqual(await ick.reserve(1, { backwash: true }), [['a', 1]])
  assert.deepEqual(await ick.exchange(2, ['a'], { backwash: true }), [['e', 5], ['f', 6]])
  assert.deepEqual(await ick.exchange(2, ['e', 'f']), [])
})

onEveryBackend('stats, peek, delete and unlink', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  assert.equal(await ick.stats(), null)
  await ick.add([[1, 'a'], [2, 'b'], [Infinity, 'c']])
  await ick.reserve(1)
  assert.deepEqual(await ick.stats(), {
    ver: 'ick.v1',
    key: name,
    psetKey: `${name}/ick/{${name}}/pset`,
    csetKey: `${name}/ick/{${name}}/cset`,
    psetSize: 2,
    csetSize: 1,
    totalSize: 3,
    psetMin: 2,
    psetMax: Infinity,
    csetMin: 1,
    csetMax: 1,
    totalMin: 1,
    totalMax: Infinity
  })
  assert.deepEqual(await ick.peek(1), [['b', 2]])
  assert.deepEqual(await ick.peek(5, { set: 'consumer' }), [['a', 1]])
  assert.equal(await ick.delete(), 3)
  assert.equal(await ick.unlink(), 0)
  assert.equal(await ick.stats(), null)
  assert.deepEqual(await ick.add([]), { new: 0, lowered: 0 })
  assert.equal((await ick.stats()).totalMin, null)
  assert.equal(await ick.unlink(), 1)
})

onEveryBackend('more members than a step takes', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  const members = Array.from({ length: 250_001 }, (_, number) => `${number}`)
  assert.equal((await ick.add(members.map((member) => [1, member]))).new, members.length)
  assert.equal((await ick.reserve(members.length)).length, members.length)
  assert.equal(await ick.commit(members), members.length)
})

onEveryBackend('a loop commits what was done', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  await ick.add([[1, 'a'], [2, 'b'], [3, 'c']])
  const seen = []
  for await (const batch of ick.batches(2)) {
    seen.push(membersOf(batch))
    assert.equal((await ick.stats()).csetSize, batch.length)
  }
  assert.deepEqual(seen, [['a', 'b'], ['c']])
  assert.equal((await ick.stats()).totalSize, 0)
})

onEveryBackend('a loop that is left keeps its batch', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  await ick.add([[1, 'a'], [2, 'b'], [3, 'c']])
  await assert.rejects(async () => {
    for await (const _ of ick.batches(1)) throw new RangeError('in the handler')
  }, RangeError)
  assert.deepEqual(await ick.reserve(1), [['a', 1]])

  const batches = ick.batches(1)
  for await (const _ of batches) break
  assert.deepEqual(await ick.reserve(1), [['a', 1]])
  // It is over: continuing would commit what may not have been done.
  assert.deepEqual(await collect(batches), [])
  assert.equal((await ick.stats()).csetSize, 1)

  assert.equal(await batches.commit(), 1)
  assert.equal(await batches.commit(), 0)
  assert.deepEqual(await ick.reserve(3), [['b', 2], ['c', 3]])
})

onEveryBackend('a lease', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  await ick.add([[1, 'a'], [2, 'b'], [3, 'c'], [4, 'd']])
  const lease = await ick.lease(30_000)
  assert.equal(lease.isLost, false)
  assert.equal(await ick.lease(30_000), null)
  assert.deepEqual(await lease.reserve(1), [['a', 1]])
  assert.equal(await lease.commit(['a']), 1)
  assert.deepEqual(await lease.exchange(1), [['b', 2]])
  assert.deepEqual(await lease.exchange(1, ['b']), [['c', 3]])
  assert.deepEqual((await collect(lease.batches(1))).flat(), [['c', 3], ['d', 4]])
  await lease[Symbol.asyncDispose]()
  assert.equal(lease.isLost, true)
  assert.equal(await lease.release(), false)
  await assert.rejects(lease.reserve(1), LeaseLostError)
  assert.throws(() => lease.batches(1), LeaseLostError)
  const again = await ick.lease(30_000)
  assert.equal(await again.release(), true)
})

test('a lease that is lost is noticed and refused', async () => {
  const { url } = await sharedServer()
  const name = newName()
  const client = await connect(`${url}${RENEWING}`)
  const ick = client.ick(name)
  await ick.add([[1, 'a']])
  const redis = new Redis(url)
  const key = `${name}/ick/{${name}}/lease`
  const lease = await ick.lease(60_000)
  for (let count = 0; count < 2; count += 1) {
    assert.equal(await redis.expire(key, 50), 1)
    await until(async () => (await redis.ttl(key)) > 50, 'it is renewed')
  }
  assert.deepEqual(await lease.reserve(1), [['a', 1]])
  await redis.del(key)
  redis.disconnect()
  await assert.rejects(lease.commit(['a']), { code: 'LEASE_LOST', operation: 'ick.commit' })
  if (!lease.signal.aborted) await once(lease.signal, 'abort')
  assert.ok(lease.signal.reason instanceof LeaseLostError)
  assert.equal(lease.isLost, true)
  assert.equal((await ick.stats()).csetSize, 1)
  await client.close()
})

onEveryBackend('a channel', async ({ connect, name }) => {
  const channel = (await connect()).ickChannel(name, 3)
  assert.deepEqual([channel.shards, channel.readable], [3, 3])
  const members = Array.from({ length: 20 }, (_, number) => `${number}`)
  assert.equal((await channel.add(members.map((member) => [1, member]))).new, 20)
  const number = channel.ickOf('7')
  assert.ok(membersOf(await channel.ick(number).peek(20)).includes('7'))
  const seen = membersOf((await collect(channel.batches([0, 1, 2], 4))).flat())
  assert.deepEqual(seen.sort(), members.sort())
  assert.equal(channel.draining(8).readable, 8)
  const sized = (await connect()).ickChannel(name, 4n)
  assert.deepEqual([sized.shards, sized.draining(8n).readable], [4, 8])
  await sized.ick(1n).stats()
  assert.deepEqual(await collect(sized.batches([0n, 1n], 4n)), [])
  for (const wrong of [[3], []]) {
    assert.throws(() => channel.batches(wrong, 1), InvalidArgumentError)
  }
})

test('a file is durable, and is closed when its client is collected as garbage', async () => {
  const url = `file:${path.join(await directory(), 'data')}`
  await (await connect(url)).ick('x').add([[1, 'a']])
  const other = async () => (await connect(`${url}?sync=never`)).ick('x').reserve(1)
  // As long as the first client is there, another sync is refused.
  let found
  await until(async () => {
    globalThis.gc()
    found = await other().catch(() => undefined)
    return found !== undefined
  }, 'the file is closed')
  assert.deepEqual(found, [['a', 1]])
})
