// Volatile hashes: fields that expire, each at its own time, and their locks.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { connect, FieldLock, LeaseLostError, ManualClock, VolatileHash, VolatileHashes } from 'millpond'

import { sharedServer } from './servers.mjs'
import { allRefused, detached, newName, onEveryBackend, refused, RENEWING, until } from './support.mjs'

const BYTES = 'has to be a string or a Uint8Array'
const BROKEN = Buffer.from([0xff, 0])
const UNREADABLE = { name: 'TypeError', code: 'ERR_ENCODING_INVALID_ENCODED_DATA', message: /returnBuffers/ }
const MINUTE_MS = 60_000

onEveryBackend('fields are set, read and removed', async ({ connect, name }) => {
  const hash = (await connect()).volatileHash(name)
  assert.equal(await hash.set('a', '1', MINUTE_MS), undefined)
  assert.equal(await hash.get('a'), '1')
  assert.equal(await hash.get('b'), null)
  assert.equal(await hash.setMany({ b: '2', c: '' }, MINUTE_MS), undefined)
  await hash.setMany(new Map([['d', Buffer.from('4')]]), MINUTE_MS)
  await hash.setMany((function* () { yield ['', '5'] })(), MINUTE_MS)
  assert.deepEqual(await hash.getMany(['c', 'x', '', 'd', 'c']), ['', null, '5', '4', ''])
  assert.equal(await hash.len(), 5)
  assert.equal(await hash.delete(new Set(['a', 'x', Buffer.from('b')])), 2)
  assert.deepEqual(await hash.stats(), { fields: 3, expired: 0, locks: 0 })
  assert.equal(await hash.clear(), 3)
  assert.equal(await hash.len(), 0)
})

onEveryBackend('sets with a condition, and times', async ({ connect, name }) => {
  const hash = (await connect()).volatileHash(name)
  assert.equal(await hash.setIfPresent('a', '0', MINUTE_MS), false)
  assert.equal(await hash.setIfAbsent('a', '1', MINUTE_MS), true)
  assert.equal(await hash.setIfAbsent('a', '2', MINUTE_MS), false)
  assert.equal(await hash.get('a'), '1')
  assert.equal(await hash.setIfPresent('a', '3', MINUTE_MS), true)
  assert.equal(await hash.get('a'), '3')
  const left = await hash.ttl('a')
  assert.ok(left > 0 && left <= MINUTE_MS, `${left}`)
  assert.equal(await hash.touch('a', 60 * MINUTE_MS), true)
  assert.ok((await hash.ttl('a')) > left)
  assert.equal(await hash.touch('b', MINUTE_MS), false)
  assert.equal(await hash.ttl('b'), null)
})

onEveryBackend('pages', async ({ connect, name }) => {
  const client = await connect()
  const hash = client.volatileHash(name)
  // Fields of one step expire at the same time, and are in the order of their bytes then.
  await hash.setMany({ c: '3', a: '1', b: '2' }, 2 * MINUTE_MS)
  await hash.set('first', '0', MINUTE_MS)
  const all = await hash.fields()
  assert.deepEqual(all.fields.map(({ field, value }) => [field, value]), [['first', '0'], ['a', '1'], ['b', '2'], ['c', '3']])
  assert.equal(all.next, null)
  assert.ok(all.fields.every(({ expiresUs }) => Number.isSafeInteger(expiresUs)))
  const { fields, next } = await hash.fields({ limit: 2, omitValues: true })
  assert.deepEqual(fields, all.fields.slice(0, 2).map((one) => ({ ...one, value: null })))
  assert.deepEqual(next, { expiresUs: fields[1].expiresUs, field: 'a' })
  const rest = await hash.fields({ after: next, limit: 10n, omitValues: false })
  assert.deepEqual(rest, { fields: all.fields.slice(2), next: null })
  // A field is a position as well, also one with bytes.
  const buffers = await client.volatileHash(name, { returnBuffers: true }).fields({ after: all.fields[2] })
  assert.deepEqual(buffers.fields.map(({ field, value }) => [field, value]), [[Buffer.from('c'), Buffer.from('3')]])
  assert.deepEqual((await hash.fields({ after: buffers.fields[0] })).fields, [])
})

onEveryBackend('one of many callers computes a value', async ({ connect, name }) => {
  const hash = (await connect()).volatileHash(name)
  const found = await Promise.all(['x', 'y', 'z'].map((token) => hash.getOrAcquire('a', token, MINUTE_MS)))
  const winner = found.findIndex(({ fence }) => fence !== null)
  const token = ['x', 'y', 'z'][winner]
  const { fence } = found[winner]
  assert.ok(Number.isSafeInteger(fence) && fence > 0)
  assert.deepEqual(found[winner], { value: null, fence, remainingMs: null })
  for (const busy of found.filter((_, index) => index !== winner)) {
    assert.deepEqual([busy.value, busy.fence], [null, null])
    assert.ok(busy.remainingMs > 0 && busy.remainingMs <= MINUTE_MS, `${busy.remainingMs}`)
  }
  const holder = await hash.holder('a')
  assert.deepEqual([holder.token, holder.fence], [token, fence])
  assert.equal((await hash.acquire('a', Buffer.from(token), MINUTE_MS)).fence, fence)
  assert.equal((await hash.stats()).locks, 1)
  await assert.rejects(hash.setLocked('a', 'other', '0', MINUTE_MS), LeaseLostError)
  assert.equal(await hash.get('a'), null)
  await hash.setLocked('a', token, '1', MINUTE_MS)
  await hash.setAndRelease('a', token, '2', MINUTE_MS)
  assert.equal(await hash.holder('a'), null)
  await assert.rejects(hash.setAndRelease('a', token, '3', MINUTE_MS), LeaseLostError)
  assert.deepEqual(await hash.getOrAcquire('a', 'x', MINUTE_MS), { value: '2', fence: null, remainingMs: null })
})

onEveryBackend('locks are renewed and released by their holders', async ({ connect, name }) => {
  const hash = (await connect()).volatileHash(name)
  const { fence, remainingMs } = await hash.acquire('a', 'me', MINUTE_MS)
  assert.equal(remainingMs, null)
  const busy = await hash.acquire('a', 'you', MINUTE_MS)
  assert.equal(busy.fence, null)
  assert.ok(busy.remainingMs > 0)
  assert.equal(await hash.renew('a', 'you', MINUTE_MS), false)
  assert.equal(await hash.renew('a', 'me', 60 * MINUTE_MS), true)
  assert.ok((await hash.holder('a')).remainingMs > MINUTE_MS)
  assert.equal(await hash.release('a', 'you'), false)
  assert.equal(await hash.release('a', 'me'), true)
  assert.equal(await hash.release('a', 'me'), false)
  assert.ok((await hash.acquire('a', 'you', MINUTE_MS)).fence > fence)
})

onEveryBackend('a lock has one holder', async ({ connect, name }) => {
  const hash = (await connect()).volatileHash(name)
  const lock = await hash.lock('a', MINUTE_MS)
  assert.equal(lock.isLost, false)
  assert.equal(await hash.lock('a', MINUTE_MS), null)
  assert.equal(await lock.set('1', MINUTE_MS), undefined)
  assert.equal(await hash.get('a'), '1')
  const { fence } = lock
  assert.equal((await hash.holder('a')).fence, fence)
  await lock[Symbol.asyncDispose]()
  assert.equal(await hash.holder('a'), null)
  assert.deepEqual([lock.isLost, lock.fence], [true, fence])
  assert.equal(await lock.release(), false)
  await assert.rejects(lock.set('2', MINUTE_MS), { code: 'LEASE_LOST', message: /the field lock was released/ })
  const next = await hash.lock('a', MINUTE_MS)
  assert.ok(next.fence > fence)
  assert.equal(await next.release(), true)
  assert.equal(await hash.get('a'), '1')
})

test('a lock that is lost refuses its late holder', async () => {
  const clock = new ManualClock()
  const hash = (await connect('memory:', { clock })).volatileHash('x')
  const first = await hash.lock('a', 60 * MINUTE_MS)
  await first.set('1', 600 * MINUTE_MS)
  clock.advance(61 * MINUTE_MS)
  const second = await hash.lock('a', 60 * MINUTE_MS)
  assert.ok(second.fence > first.fence)
  await assert.rejects(first.set('2', MINUTE_MS), LeaseLostError)
  assert.equal(await first.release(), false)
  assert.equal(await hash.get('a'), '1')
  await second.set('3', MINUTE_MS)
  assert.equal(await second.release(), true)
  assert.equal(await hash.get('a'), '3')
})

onEveryBackend('a lock says that it is lost', async ({ connect, name }) => {
  const hash = (await connect()).volatileHash(name)
  const lock = await hash.lock('a', MINUTE_MS)
  const { signal } = lock
  assert.equal(lock.signal, signal)
  assert.equal(signal.aborted, false)
  assert.equal(await hash.release('a', (await hash.holder('a')).token), true)
  if (!signal.aborted) await once(signal, 'abort')
  assert.ok(signal.reason instanceof LeaseLostError)
  assert.match(signal.reason.message, /the field lock was lost/)
  assert.equal(lock.isLost, true)
  assert.equal(await lock.release(), false)
  // One that is released is not lost.
  const other = await hash.lock('a', MINUTE_MS)
  const unaborted = other.signal
  await other.release()
  assert.equal(await hash.holder('a'), null)
  assert.equal(unaborted.aborted, false)
}, RENEWING)

// A lock is renewed three times per ttl, so these are the renewals of three.
const WATCHING = `
import { connect } from 'millpond'
const [url, name] = process.argv.slice(1)
const client = await connect(url)
const hash = client.volatileHash(name)
let last = Infinity
for (let renewals = 0; renewals < 9; ) {
  const { remainingMs } = await hash.holder('a')
  if (remainingMs > last) renewals += 1
  last = remainingMs
}
await client.close()
`

test('a holder that blocks the event loop keeps its lock', async () => {
  const { url } = await sharedServer()
  const name = newName()
  const client = await connect(`${url}${RENEWING}`)
  const hash = client.volatileHash(name)
  const lock = await hash.lock('a', MINUTE_MS)
  const cwd = fileURLToPath(new URL('.', import.meta.url))
  const options = ['--input-type=module', '-e', WATCHING, '--', url, name]
  execFileSync(process.execPath, options, { cwd, timeout: 60_000, killSignal: 'SIGKILL' })
  assert.equal(lock.isLost, false)
  assert.equal((await hash.holder('a')).fence, lock.fence)
  await lock.set('1', MINUTE_MS)
  assert.equal(await lock.release(), true)
  await client.close()
})

onEveryBackend('hashes of a family', async ({ connect, name }) => {
  const client = await connect()
  const family = client.volatileHashes(name, { shards: 3 })
  const [ann, bob] = ['ann', Buffer.from('bob')].map((base) => family.hash(base))
  await ann.set('a', '1', MINUTE_MS)
  await bob.setMany({ a: '2', b: '3' }, 1)
  assert.deepEqual([await ann.len(), await ann.get('a')], [1, '1'])
  await until(async () => (await bob.stats()).expired === 2, 'fields expire')
  const { nextInMs, ...reaped } = await family.reap()
  assert.deepEqual(reaped, { fields: 2, locks: 0, orphans: 0, more: false })
  assert.ok(nextInMs > 0 && nextInMs <= MINUTE_MS, `${nextInMs}`)
  assert.equal(await client.volatileHash(name).len(), 0)
  const lock = await ann.lock('a', MINUTE_MS)
  assert.equal(await bob.lock('a', MINUTE_MS).then((other) => other.release()), true)
  assert.equal(await lock.release(), true)
  const buffers = client.volatileHashes(name, { shards: 3n, returnBuffers: true })
  assert.deepEqual(await buffers.hash('ann').get('a'), Buffer.from('1'))
})

test('a reap of a family finds the only hash with something to remove', async () => {
  const clock = new ManualClock()
  const family = (await connect('memory:', { clock })).volatileHashes('x')
  const set = (_, number) => family.hash(`${number}`).set('a', '1', number === 777 ? 1_000 : MINUTE_MS)
  await Promise.all(Array.from({ length: 1_000 }, set))
  assert.equal((await family.reap()).nextInMs, 1_000)
  clock.advance(1_000)
  const reaped = { fields: 1, locks: 0, orphans: 0, more: false, nextInMs: MINUTE_MS - 1_000 }
  assert.deepEqual(await family.reap({ limit: 1 }), reaped)
  assert.deepEqual(await family.hash('777').stats(), { fields: 0, expired: 0, locks: 0 })
  assert.equal(await family.hash('776').len(), 1)
})

onEveryBackend('bytes', async ({ connect, name }) => {
  const client = await connect()
  const [hash, buffers] = [client.volatileHash(name), client.volatileHash(name, { returnBuffers: true })]
  await hash.set('bytes', BROKEN, MINUTE_MS)
  await hash.set('text', 'é', MINUTE_MS)
  await assert.rejects(hash.get('bytes'), UNREADABLE)
  await assert.rejects(hash.getMany(['text', 'bytes']), UNREADABLE)
  await assert.rejects(hash.getOrAcquire('bytes', 'me', MINUTE_MS), UNREADABLE)
  await assert.rejects(hash.fields(), UNREADABLE)
  assert.equal((await hash.fields({ omitValues: true })).fields.length, 2)
  assert.deepEqual(await buffers.getMany(['text', 'bytes', 'none']), [Buffer.from('é'), BROKEN, null])
  assert.deepEqual((await buffers.getOrAcquire('bytes', 'me', MINUTE_MS)).value, BROKEN)
  await hash.set(BROKEN, 'x', MINUTE_MS)
  await assert.rejects(hash.fields({ omitValues: true }), UNREADABLE)
  assert.equal(await hash.get(BROKEN), 'x')
  await hash.acquire('a', BROKEN, MINUTE_MS)
  await assert.rejects(hash.holder('a'), UNREADABLE)
  assert.deepEqual((await buffers.holder('a')).token, BROKEN)
  assert.equal(await hash.release('a', BROKEN), true)
})

test('a field is live until its time, to the microsecond', async () => {
  const clock = new ManualClock(1_700_000_000_000)
  const hash = (await connect('memory:', { clock })).volatileHash('x')
  await hash.set('a', '1', 1_500.125)
  await hash.set('b', '2', 1_000)
  const { fence } = await hash.acquire('a', 'me', 2_000.5)
  assert.ok(fence >= 1_700_000_000_000_000)
  assert.equal(await hash.ttl('a'), 1_500.125)
  assert.equal((await hash.fields()).fields[1].expiresUs, 1_700_000_001_500_125)
  assert.equal((await hash.acquire('a', 'you', 1_000)).remainingMs, 2_000.5)
  clock.advance(1_000)
  assert.deepEqual(await hash.getMany(['a', 'b']), ['1', null])
  assert.equal(await hash.touch('b', 1_000), false)
  assert.deepEqual(await hash.stats(), { fields: 1, expired: 1, locks: 1 })
  assert.deepEqual(await hash.reap(), { fields: 1, locks: 0, orphans: 0, more: false, nextInMs: 500.125 })
  clock.advance(500.124)
  assert.equal(await hash.ttl('a'), 0.001)
  clock.advance(0.001)
  assert.equal(await hash.get('a'), null)
  assert.deepEqual((await hash.holder('a')), { token: 'me', fence, remainingMs: 500.375 })
  clock.advance(500.375)
  assert.equal(await hash.holder('a'), null)
  assert.equal(await hash.renew('a', 'me', 1_000), false)
  await assert.rejects(hash.setLocked('a', 'me', '1', 1_000), LeaseLostError)
  const one = await hash.reap({ limit: 1 })
  assert.deepEqual([one.fields + one.locks, one.more, one.nextInMs], [1, true, 0])
  const last = await hash.reap({ limit: 1n })
  assert.deepEqual([last.fields + last.locks, last.more, last.nextInMs], [1, false, null])
})

const CALLS = [
  [(hash) => hash.set(7, '1', 1_000), `field ${BYTES}`, TypeError],
  [(hash) => hash.set('a', 7, 1_000), `value ${BYTES}`, TypeError],
  [(hash) => hash.set('a', '1'), 'ttlMs has to be a number of milliseconds, not undefined', TypeError],
  [(hash) => hash.set('a', '1', '1'), 'ttlMs has to be a number of milliseconds', TypeError],
  [(hash) => hash.set('a', '1', { ttlMs: 1 }), 'ttlMs has to be a number of milliseconds', TypeError],
  [(hash) => hash.set('a', '1', -1), 'ttlMs is -1'],
  [(hash) => hash.set('a', '1', 0.999), 'between a millisecond and 100 years'],
  [(hash) => hash.set('a', '1', Infinity), 'between a millisecond and 100 years'],
  [(hash) => hash.set('a', detached(), 1_000), 'value is detached'],
  [(hash) => hash.set('\ud800', '1', 1_000), 'field has half a surrogate pair'],
  [(hash) => hash.set('x'.repeat(65_537), '1', 1_000), 'the field has 65537 bytes; 65536 are allowed'],
  [(hash) => hash.setMany('ab', 1_000), 'fields has to be an iterable', TypeError],
  [(hash) => hash.setMany(Buffer.from('ab'), 1_000), 'fields has to be an iterable', TypeError],
  [(hash) => hash.setMany({ a: 1 }, 1_000), `fields[0][1] ${BYTES}`, TypeError],
  [(hash) => hash.setMany([['a', '1'], ['b']], 1_000), 'fields[1] has to be [field, value], not an array of 1', TypeError],
  [(hash) => hash.setMany({}, 1_000), 'the call names no field'],
  [(hash) => hash.setMany({ a: '1' }), 'ttlMs has to be a number of milliseconds', TypeError],
  [(hash) => hash.setLocked('a', '', '1', 1_000), 'the token is empty'],
  [(hash) => hash.setAndRelease('a', 7, '1', 1_000), `token ${BYTES}`, TypeError],
  [(hash) => hash.acquire('a', 'x'.repeat(65), 1_000), 'the token has 65 bytes; 64 are allowed'],
  [(hash) => hash.lock(7, 1_000), `field ${BYTES}`, TypeError],
  [(hash) => hash.lock('a'), 'ttlMs has to be a number of milliseconds', TypeError],
  [(hash) => hash.lock('a', 0), 'between a millisecond and 100 years'],
  [(hash) => hash.get(), `field ${BYTES}`, TypeError],
  [(hash) => hash.getMany('ab'), 'fields has to be an iterable', TypeError],
  [(hash) => hash.getMany(['a', 7]), `fields[1] ${BYTES}`, TypeError],
  [(hash) => hash.getMany([]), 'the call names no field'],
  [(hash) => hash.getMany(Array(10_001).fill('a')), 'fields has more than 10000 items'],
  [(hash) => hash.delete('ab'), 'fields has to be an iterable', TypeError],
  [(hash) => hash.touch('a'), 'ttlMs has to be a number of milliseconds', TypeError],
  [(hash) => hash.fields({ limit: 0 }), 'not 0'],
  [(hash) => hash.fields({ limit: '1' }), 'limit has to be a whole number', TypeError],
  [(hash) => hash.fields({ omitValues: 1 }), 'omitValues has to be true or false', TypeError],
  [(hash) => hash.fields({ after: 'a' }), 'after.expiresUs has to be a whole number', TypeError],
  [(hash) => hash.fields({ after: { expiresUs: 1 } }), `after.field ${BYTES}`, TypeError],
  [(hash) => hash.reap({ limit: 0 }), 'a step removes 1 to 1000 fields and locks, not 0'],
  [(hash) => hash.reap(5), 'options has to be an object, not a number', TypeError]
]

const LOCK_CALLS = [
  [(lock) => lock.set(7, 1_000), `value ${BYTES}`, TypeError],
  [(lock) => lock.set('1'), 'ttlMs has to be a number of milliseconds', TypeError],
  [(lock) => lock.set('1', 0), 'between a millisecond and 100 years']
]

onEveryBackend('wrong arguments', async ({ connect, name }) => {
  const client = await connect()
  const hash = client.volatileHash(name)
  await allRefused(CALLS, hash)
  assert.deepEqual(await hash.stats(), { fields: 0, expired: 0, locks: 0 })
  await assert.rejects(client.volatileHash('').len(), refused('name'))
  assert.throws(() => client.volatileHash('x', { returnBuffers: 1 }), refused('returnBuffers', TypeError))
  const lock = await hash.lock('a', MINUTE_MS)
  await allRefused(LOCK_CALLS, lock)
  const family = client.volatileHashes(name)
  assert.throws(() => family.hash(7), refused(`base ${BYTES}`, TypeError))
  assert.throws(() => client.volatileHashes(7), refused(`name ${BYTES}`, TypeError))
  assert.throws(() => client.volatileHashes('x', { shards: '1' }), refused('shards', TypeError))
  assert.throws(() => client.volatileHashes('x', { shards: -1 }), refused('shards'))
  await assert.rejects(family.reap({ limit: 0 }), refused('not 0'))
  await assert.rejects(family.hash('').len(), refused('the base is empty'))
  for (const shards of [0, 65_537]) {
    const made = client.volatileHashes('x', { shards })
    const message = `shards, not ${shards}`
    await assert.rejects(made.reap(), refused(message))
    await assert.rejects(made.hash('a').len(), refused(message))
  }
  for (const [Made, message] of [
    [VolatileHash, /volatileHash\(\) of a Client makes one/],
    [VolatileHashes, /volatileHashes\(\) of a Client makes one/],
    [FieldLock, /lock\(\) of a VolatileHash makes one/]
  ]) {
    assert.throws(() => new Made(), { name: 'TypeError', message })
  }
})
