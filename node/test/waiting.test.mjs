// Waits of every kind, on every backend: what ends them, and what then becomes of what comes.

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'

import { ClosedError, connect } from 'millpond'

import { LOOPS, next, WAITS } from './kit.mjs'
import { withoutReplies } from './servers.mjs'
import { NEVER_POLLING, onEveryRow, refused, reusableSignal, until } from './support.mjs'

const FOREVER = { waitMs: Infinity }
const OVER = { done: true, value: undefined }

/** Checks that the next that waits has what comes: those that wait no more take nothing from it. */
async function getsWhatComes({ queue, put, size, wait }) {
  const asked = wait(queue, FOREVER)
  await size(queue)
  await put(queue, 'a')
  assert.deepEqual(await asked, ['a'])
}

onEveryRow('a wait is woken by what comes', WAITS, getsWhatComes, NEVER_POLLING)

onEveryRow('a wait is over when its client is closed', WAITS, async ({ client, queue, put, size, wait }) => {
  const waits = [FOREVER, { waitMs: 60_000 }].map((options) => assert.rejects(wait(queue, options), ClosedError))
  await size(queue)
  await client.close()
  await Promise.all(waits)
  await assert.rejects(async () => put(queue, 'a'), ClosedError)
  await assert.rejects(async () => wait(queue, FOREVER), ClosedError)
})

const ENDING = WAITS.filter(({ isEndless }) => !isEndless)

onEveryRow('a wait lasts no longer than it may', ENDING, async ({ queue, put, wait }) => {
  const began = performance.now()
  assert.deepEqual(await wait(queue, { waitMs: 100 }), [])
  assert.ok(performance.now() - began > 95)
  assert.deepEqual(await wait(queue, { waitMs: 0 }), [])
  await put(queue, 'a')
  assert.deepEqual(await wait(queue, { waitMs: 0 }), ['a'])
})

onEveryRow('a wait refuses a time that is none', ENDING, async ({ queue, wait }) => {
  for (const [waitMs, message, Kind] of [
    ['1', 'waitMs has to be a number of milliseconds', TypeError],
    [-1, 'waitMs is -1'],
    [NaN, 'waitMs is NaN']
  ]) {
    await assert.rejects(async () => wait(queue, { waitMs }), refused(message, Kind))
  }
})

onEveryRow('a wait is aborted', WAITS, async (row) => {
  const { queue, put, size, wait } = row
  const controller = new AbortController()
  const { signal } = controller
  const reason = new RangeError('no more time')
  const isReason = (error) => error === reason
  const waits = Array.from({ length: 5 }, () => assert.rejects(wait(queue, { ...FOREVER, signal }), isReason))
  await size(queue)
  controller.abort(reason)
  await Promise.all(waits)
  assert.deepEqual(getEventListeners(signal, 'abort'), [])
  const late = AbortSignal.timeout(30)
  await assert.rejects(wait(queue, { ...FOREVER, signal: late }), { name: 'TimeoutError' })
  await getsWhatComes(row)
  // What was aborted before is not begun.
  await put(queue, 'b')
  await assert.rejects(wait(queue, { ...FOREVER, signal }), isReason)
}, NEVER_POLLING)

onEveryRow('a loop goes on until nothing is left', LOOPS, async ({ queue, put, size, loop, valuesOf, settle }) => {
  await put(queue, 'a', 'b', 'c')
  const values = []
  for await (const batch of loop(queue, {})) {
    values.push(...valuesOf(batch))
    await settle(queue, batch)
  }
  assert.deepEqual(values.sort(), ['a', 'b', 'c'])
  assert.equal(await size(queue), 0)
  const over = loop(queue, {})
  assert.deepEqual(await over.next(), OVER)
  await put(queue, 'd')
  assert.deepEqual(await over.next(), OVER)
  assert.deepEqual(await next({ valuesOf }, loop(queue, {})), ['d'])
})

onEveryRow('a loop waits again and again', LOOPS, async ({ queue, put, size, loop, valuesOf, settle }) => {
  const batches = loop(queue, FOREVER)
  for (const value of ['a', 'b', 'c']) {
    const asked = batches.next()
    await size(queue)
    await put(queue, value)
    const { value: batch } = await asked
    assert.deepEqual(valuesOf(batch), [value])
    await settle(queue, batch)
  }
}, NEVER_POLLING)

onEveryRow('a loop that is left has done nothing', LOOPS, async ({ queue, put, size, loop }) => {
  await put(queue, 'a', 'b', 'c')
  await assert.rejects(async () => {
    for await (const _ of loop(queue, {})) throw new RangeError('in the handler')
  }, RangeError)
  const left = loop(queue, {})
  for await (const _ of left) break
  assert.equal(await size(queue), 3)
  assert.deepEqual(await left.next(), OVER)
})

onEveryRow('a loop has one request at a time', LOOPS, async (row) => {
  const { queue, put, loop } = row
  const batches = loop(queue, FOREVER)
  const asked = next(row, batches)
  await assert.rejects(batches.next(), { code: 'INVALID_ARGUMENT', message: /requested already/ })
  await put(queue, 'a')
  assert.deepEqual(await asked, ['a'])
})

onEveryRow('a loop is left while it waits', LOOPS, async (row) => {
  const { queue, put, size, loop } = row
  const left = loop(queue, FOREVER)
  const asked = left.next()
  await size(queue)
  // Other calls have its number afterwards, and to leave it again does not touch them.
  assert.deepEqual(await left.return(), OVER)
  const puts = [put(queue, 'a'), put(queue, 'b')]
  await left[Symbol.asyncDispose]()
  assert.deepEqual([await asked, await left.next()], [OVER, OVER])
  await Promise.all(puts)
  assert.equal(await size(queue), 2)
  assert.equal((await next(row, loop(queue, FOREVER))).length, 1)
}, NEVER_POLLING)

onEveryRow('a loop that is over takes nothing from others', LOOPS, async (row) => {
  const { queue, loop } = row
  const idle = [loop(queue, { waitMs: 20 }), loop(queue, FOREVER)]
  const asked = idle.map((one) => one.next())
  assert.deepEqual(await asked[0], OVER)
  await idle[1].return()
  assert.deepEqual(await asked[1], OVER)
  await getsWhatComes({ ...row, wait: async (_, options) => next(row, loop(queue, options)) })
  assert.equal(idle.length, 2)
}, NEVER_POLLING)

onEveryRow('a loop keeps what comes too late for the next request', LOOPS, async (row) => {
  const { queue, put, loop } = row
  await put(queue, 'a', 'b')
  const signal = reusableSignal()
  const batches = loop(queue, { waitMs: 0, signal })
  const asked = batches.next()
  signal.abort()
  await assert.rejects(asked, { name: 'AbortError' })
  const values = [...(await next(row, batches)), ...(await next(row, batches))]
  assert.deepEqual(values.sort(), ['a', 'b'])
  assert.deepEqual(await batches.next(), OVER)
})

const SHARED = LOOPS.filter(({ isShared }) => isShared)

onEveryRow('loops share what comes', SHARED, async ({ queue, put, size, loop, valuesOf, settle }) => {
  const stop = new AbortController()
  const { signal } = stop
  const seen = []
  const consume = async () => {
    for await (const batch of loop(queue, { ...FOREVER, max: 3, signal })) {
      seen.push(...valuesOf(batch))
      await settle(queue, batch)
    }
  }
  const consumers = Array.from({ length: 10 }, () => assert.rejects(consume, { name: 'AbortError' }))
  const values = Array.from({ length: 200 }, (_, number) => `${number}`)
  await Promise.all(values.map((value) => put(queue, value)))
  await until(async () => (await size(queue)) === 0, 'all are done')
  stop.abort()
  await Promise.all(consumers)
  assert.deepEqual(seen.sort((a, b) => a - b), values)
  assert.deepEqual(getEventListeners(signal, 'abort'), [])
})

test('a loop goes on after an error that a retry can fix', { timeout: 120_000 }, async () => {
  await withoutReplies(goOn)
})

/** Has a server reply to nothing for a while. */
async function goOn(server, timeoutMs) {
  const client = await connect(server.url, { timeoutMs })
  const rows = LOOPS.map((row) => {
    const queue = row.open(client, row.name)
    return { ...row, queue, batches: row.loop(queue, FOREVER) }
  })
  for (const row of rows) {
    await row.put(row.queue, 'a')
    assert.deepEqual(await next(row, row.batches), ['a'], row.name)
  }
  await server.run('stop')
  const timeout = { code: 'TIMEOUT', retry: 'unknown' }
  await Promise.all(rows.map(({ batches, name }) => assert.rejects(batches.next(), timeout, name)))
  await server.run('cont')
  for (const row of rows) {
    let isOver = false
    const asked = next(row, row.batches).finally(() => { isOver = true })
    // What was asked first may have been done as well, and have taken what came then.
    await until(() => row.put(row.queue, 'b').then(() => isOver, () => isOver), row.name)
    assert.equal((await asked)[0], 'b', row.name)
  }
  await client.close()
}
