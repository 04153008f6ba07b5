// A clock that tests move, in place of sleeping.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { connect, InvalidArgumentError, ManualClock } from 'millpond'

const HOUR_MS = 3_600_000

test('a clock stands still at the present, or at a time', async () => {
  const before = Date.now()
  const present = new ManualClock()
  const { nowMs } = present
  assert(nowMs >= before && nowMs <= Date.now())
  await sleep(5)
  assert.equal(present.nowMs, nowMs)
  const clock = new ManualClock(1_700_000_000_000)
  clock.advance(1.5)
  clock.advance(0.5)
  assert.equal(clock.nowMs, 1_700_000_000_002)
  clock.advance(Infinity)
  assert.equal(new Date(clock.nowMs).getUTCFullYear(), 9999)
})

test('arguments of a clock', async () => {
  const clock = new ManualClock(0)
  const wrongType = { code: 'ERR_INVALID_ARG_TYPE' }
  assert.throws(() => new ManualClock(-1), InvalidArgumentError)
  assert.throws(() => new ManualClock(0.5), InvalidArgumentError)
  assert.throws(() => new ManualClock('now'), wrongType)
  assert.throws(() => clock.advance(-1), InvalidArgumentError)
  assert.throws(() => clock.advance(NaN), InvalidArgumentError)
  assert.throws(() => clock.advance('1'), wrongType)
  await assert.rejects(connect('memory:', { clock: { nowMs: 0 } }), wrongType)
  const message = /a server's time is the server's/
  await assert.rejects(connect('redis://127.0.0.1:1', { clock }), { name: 'InvalidArgumentError', message })
  assert.equal(clock.nowMs, 0)
})

test('clients that share an engine share its clock', async (t) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'millpond-'))
  t.after(() => rm(directory, { recursive: true }))
  for (const url of ["memory:node's clock", `file:${directory}`]) {
    const clock = new ManualClock(1_000)
    const clients = [await connect(url, { clock }), await connect(url), await connect(url, { clock })]
    const other = connect(url, { clock: new ManualClock(1_000) })
    await assert.rejects(other, { name: 'InvalidArgumentError', message: /another clock/ })
    clock.advance(1_000)
    for (const client of clients) {
      assert.equal(await client.tasks('q').time(), 2_000)
      await client.close()
    }
  }
})

test('an advance wakes those that wait', async () => {
  const clock = new ManualClock()
  const store = (await connect('memory:', { clock })).tasks('shop')
  const worker = store.worker('mails')
  const claimed = store.claims('inbox', { waitMs: 60_000 }).next()
  const ran = worker.run(() => void worker.stop())
  await store.insert('inbox', 7, { delayMs: HOUR_MS })
  await store.insert('mails', null, { delayMs: HOUR_MS })
  await sleep(50)
  clock.advance(HOUR_MS - 1)
  const drained = await store.worker(['inbox', 'mails']).drain(() => assert.fail('it is not due'))
  assert.equal(drained.done, 0)
  clock.advance(1)
  const [task] = (await claimed).value
  assert.equal(task.value, 7)
  await ran
  assert.equal(await store.claim('inbox'), null, 'it is leased')
  clock.advance(30_000)
  assert.equal((await store.claim('inbox')).value, 7)
})
