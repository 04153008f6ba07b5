// What is true of every call of every class: its options, its signal, and a client that is closed.

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'

import * as millpond from 'millpond'
import { ClosedError, connect } from 'millpond'

import { CALLS, LOOPS } from './kit.mjs'
import { detached, onEveryRow, refused } from './support.mjs'

const ROWS = Object.entries(CALLS).map(([name, row]) => ({ name, ...row }))

/** Checks that the calls of a row have done nothing. */
async function isUntouched({ client, queue, size }) {
  if (size !== undefined) assert.equal(await size(queue), 0)
  assert.ok(!queue.isLost && !queue.isEnded)
  await client.taskStores()
}

onEveryRow('nothing is sent that was aborted before', ROWS, async (row) => {
  const reason = new RangeError('no more time')
  const isReason = (error) => error === reason
  const signal = AbortSignal.abort(reason)
  for (const [method, args] of Object.entries(row.calls)) {
    await assert.rejects(row.queue[method](...args, { signal }), isReason, method)
    const aborted = row.queue[method](...args, { signal: AbortSignal.abort() })
    await assert.rejects(aborted, { name: 'AbortError' }, method)
  }
  await isUntouched(row)
})

onEveryRow('a call leaves nothing at its signal', ROWS, async ({ queue, calls }) => {
  const { signal } = new AbortController()
  const made = Object.entries(calls).map(([method, args]) => queue[method](...args, { signal }))
  await Promise.allSettled(made)
  assert.deepEqual(getEventListeners(signal, 'abort'), [])
})

onEveryRow('wrong options are refused', ROWS, async (row) => {
  const { queue, calls, handles = {} } = row
  for (const [options, message, Kind] of [
    [5, 'options has to be an object, not a number', TypeError],
    [null, 'options has to be an object, not null', TypeError],
    [{ nobody: 1 }, 'the option nobody is not known'],
    [{ toString: 1 }, 'the option toString is not known'],
    [{ signal: {} }, 'signal has to be an AbortSignal', TypeError]
  ]) {
    for (const [method, args] of Object.entries(calls)) {
      // A promise that rejects, and nothing that is thrown: callers have one kind of error to handle.
      const called = queue[method](...args, options)
      await assert.rejects(called, refused(message, Kind), method)
    }
    for (const [method, args] of Object.entries(options?.signal ? {} : handles)) {
      assert.throws(() => queue[method](...args, options), refused(message, Kind), method)
    }
  }
  await isUntouched(row)
})

// One refuses to have no filter, and one needs no engine.
const NEVER_SENT = ['areEmpty', 'publishCall']

onEveryRow('a client that is closed refuses every call', ROWS, async ({ client, queue, calls }) => {
  await client.close()
  for (const [method, args] of Object.entries(calls)) {
    const called = queue[method](...args)
    if (method === 'close') await called
    else if (NEVER_SENT.includes(method)) await called.catch(() => {})
    else await assert.rejects(called, ClosedError, method)
  }
})

test('names of queues', async () => {
  const client = await connect('memory:')
  for (const { name: row, open, put } of LOOPS) {
    for (const [name, message, Kind] of [
      [undefined, 'name has to be a string or a Uint8Array', TypeError],
      [5, 'name has to be a string or a Uint8Array', TypeError],
      ['\ud800', 'name has half a surrogate pair'],
      [detached(), 'name is detached']
    ]) {
      assert.throws(() => open(client, name), refused(message, Kind), row)
    }
    await assert.rejects(async () => put(open(client, 'x'.repeat(65_537)), 'a'), refused('65536 are allowed'), row)
  }
})

/** The names of the methods of a class. */
function methodsOf(found) {
  const names = new Set()
  for (let of = found.prototype; of !== Object.prototype; of = Object.getPrototypeOf(of)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(of))) {
      if (typeof value === 'function' && name !== 'constructor') names.add(name)
    }
  }
  return [...names].sort()
}

test('every method has a row', () => {
  for (const { name, calls, handles = {}, plain = [] } of ROWS) {
    const listed = [...Object.keys(calls), ...Object.keys(handles), ...plain]
    assert.deepEqual(listed.sort(), methodsOf(millpond[name]), name)
  }
})

/** Classes that programs make objects of. */
const PUBLIC = ['Doc', 'ManualClock', 'Message', 'Move', 'Reject', 'Release', 'Retry', 'Task']

test('handles are made by others', () => {
  const classes = Object.keys(millpond).filter((name) => /^[A-Z]/.test(name) && !name.endsWith('Error'))
  for (const name of classes.filter((name) => !PUBLIC.includes(name))) {
    const message = new RegExp(`^${name} has no public constructor; .* makes one$`)
    assert.throws(() => new millpond[name](), { name: 'TypeError', message })
  }
  assert.ok(Object.keys(CALLS).every((name) => classes.includes(name)))
})
