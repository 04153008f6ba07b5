// What a volatile hash is for: sessions that expire, each at its own time, and pages that many ask for and one computes.
//
// node examples/node/volatile.js [URL]

import assert from 'node:assert/strict'

import { connect, LeaseLostError } from 'millpond'

const MINUTE = 60 * 1000

const client = await connect(process.argv[2] ?? 'memory:')
// Hashes of their own for each run.
const sessions = client.volatileHash(`examples/sessions/${process.pid}`)
const pages = client.volatileHash(`examples/pages/${process.pid}`)

// A session lives for half an hour after it was last used.
assert.equal(await sessions.setIfAbsent('ann', 'cart 3', 30 * MINUTE), true)
assert.equal(await sessions.setIfAbsent('ann', 'cart 4', 30 * MINUTE), false)
await sessions.setMany({ bob: 'cart 5', cy: 'cart 6' }, 10 * MINUTE)
assert.equal(await sessions.touch('bob', 30 * MINUTE), true)
assert.deepEqual(await sessions.getMany(['ann', 'dee']), ['cart 3', null])

// Those first that expire first.
const first = await sessions.fields({ limit: 1 })
assert.equal(first.fields[0].field, 'cy')
const rest = await sessions.fields({ after: first.next, omitValues: true })
assert.deepEqual(rest.fields.map(({ field }) => field), ['ann', 'bob'])

// Two requests ask for a page that is not there: one of them computes it, the other one waits.
const { fence } = await pages.getOrAcquire('/', 'req-1', MINUTE)
assert.ok(fence !== null)
assert.ok((await pages.getOrAcquire('/', 'req-2', MINUTE)).remainingMs > 0)
await pages.setAndRelease('/', 'req-1', '<h1>Shop</h1>', 10 * MINUTE)
console.log('req-2 shows', (await pages.getOrAcquire('/', 'req-2', MINUTE)).value)

// One that was stopped for too long has lost its lock to another one, whose fence is higher.
await pages.acquire('/prices', 'req-1', 1)
let lock = null
while (lock === null) lock = await pages.lock('/prices', MINUTE) // renewed until it is released
assert.ok(lock.fence > fence)
await assert.rejects(pages.setAndRelease('/prices', 'req-1', 'old prices', 10 * MINUTE), LeaseLostError)
console.log('req-1 sets no old prices')
await lock.set('new prices', 10 * MINUTE)
assert.equal(await lock.release(), true)
assert.equal(await pages.get('/prices'), 'new prices')

// Nothing is left.
assert.deepEqual([await sessions.clear(), await pages.clear()], [3, 2])
await client.close()
