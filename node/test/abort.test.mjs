// What an AbortSignal does to a call: it ends the wait, never the step.

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { connect } from 'millpond'

import { startServers } from './servers.mjs'
import { NEVER_POLLING, newName, onEveryBackend, until } from './support.mjs'

onEveryBackend('what was aborted before is not sent', async ({ connect, name }) => {
  const client = await connect()
  const ick = client.ick(name)
  const reason = new RangeError('no more time')
  const signal = AbortSignal.abort(reason)
  const same = (error) => error === reason
  await assert.rejects(ick.add(['a'], { signal }), same)
  await assert.rejects(ick.reserve(1, { signal }), same)
  await assert.rejects(ick.commit(['a'], { signal }), same)
  await assert.rejects(ick.exchange(1, [], { signal }), same)
  await assert.rejects(ick.stats({ signal }), same)
  await assert.rejects(ick.peek(1, { signal }), same)
  await assert.rejects(ick.delete({ signal }), same)
  await assert.rejects(ick.unlink({ signal }), same)
  await assert.rejects(ick.lease(1000, { signal }), same)
  await assert.rejects(client.ickChannel(name, 2).add(['a'], { signal }), same)
  await assert.rejects(client.close({ signal }), same)
  await assert.rejects(connect({ signal }), same)
  await assert.rejects(ick.batches(1, { signal }).next(), same)
  const lease = await ick.lease(1000)
  await assert.rejects(lease.reserve(1, { signal }), same)
  await assert.rejects(lease.commit(['a'], { signal }), same)
  await assert.rejects(lease.exchange(1, [], { signal }), same)
  await assert.rejects(lease.release({ signal }), same)
  assert.equal(await lease.release(), true)
  assert.equal(await ick.stats(), null)
  await assert.rejects(ick.stats({ signal: AbortSignal.abort() }), { name: 'AbortError' })
})

test('what is aborted while it is under way is done all the same', async () => {
  const server = await startServers()
  const client = await connect(server.url, { timeoutMs: 60_000 })
  const ick = client.ick('x')
  await ick.add([[1, 'a']])
  await server.run('stop')
  const controller = new AbortController()
  const { signal } = controller
  const calls = Array.from({ length: 100 }, (_, number) =>
    ick.add([[1, `${number}`]], number % 2 ? { signal } : undefined)
  )
  const lease = ick.lease(60_000, { signal })
  const settled = Promise.allSettled([...calls, lease])
  controller.abort()
  await assert.rejects(lease, { name: 'AbortError' })
  await assert.rejects(calls[1], { name: 'AbortError' })
  await server.run('cont')
  const outcomes = await settled
  for (const [number, outcome] of outcomes.slice(0, 100).entries()) {
    assert.equal(outcome.status, number % 2 ? 'rejected' : 'fulfilled')
  }
  assert.equal((await ick.stats()).psetSize, 101)
  // A lease that came after the caller stopped waiting is released.
  await until(async () => (await ick.lease(60_000)) !== null, 'the lease is free')
  assert.deepEqual(getEventListeners(signal, 'abort'), [])
  await client.close()
  await server.stop()
})

onEveryBackend('a signal that is not used any more', async ({ connect, name }) => {
  const { signal } = new AbortController()
  const ick = (await connect()).ick(name)
  await Promise.all(Array.from({ length: 50 }, () => ick.add(['a'], { signal })))
  for await (const _ of ick.batches(1, { signal }));
  await assert.rejects(ick.add([[NaN, 'a']], { signal }))
  assert.deepEqual(getEventListeners(signal, 'abort'), [])
})

onEveryBackend('a time', async ({ connect, name }) => {
  const batches = (await connect()).ick(name).batches(1, {
    waitMs: Infinity,
    signal: AbortSignal.timeout(50)
  })
  await assert.rejects(batches.next(), { name: 'TimeoutError' })
})

onEveryBackend('a loop that was aborted can be committed', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  await ick.add([[1, 'a'], [2, 'b']])
  const controller = new AbortController()
  const batches = ick.batches(1, { waitMs: Infinity, signal: controller.signal })
  const seen = []
  const consume = async () => {
    for await (const batch of batches) {
      seen.push(batch)
      if (seen.length === 2) controller.abort()
    }
  }
  await assert.rejects(consume, { name: 'AbortError' })
  assert.deepEqual(seen, [[['a', 1]], [['b', 2]]])
  assert.equal((await ick.stats()).csetSize, 1)
  assert.equal(await batches.commit(), 1)
  assert.equal((await ick.stats()).totalSize, 0)
})

onEveryBackend('an aborted wait leaves its request to the next', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  await ick.add([[1, 'a']])
  const controller = new AbortController()
  const batches = ick.batches(1, { waitMs: Infinity, signal: controller.signal })
  await batches.next()
  const asked = batches.next() // commits, and waits
  await until(async () => (await ick.stats()).csetSize === 0, 'the batch is committed')
  controller.abort()
  await assert.rejects(asked, { name: 'AbortError' })
  assert.equal(await batches.commit(), 0)
})

onEveryBackend('a batch that was not received is not committed', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  await ick.add([[1, 'a'], [2, 'b']])
  const controller = new AbortController()
  const batches = ick.batches(1, { waitMs: Infinity, signal: controller.signal })
  assert.deepEqual((await batches.next()).value, [['a', 1]])
  const asked = batches.next() // the embedded engine has done it already
  controller.abort()
  await assert.rejects(asked, { name: 'AbortError' })
  assert.equal(await batches.commit(), 0)
  await until(async () => (await ick.stats()).csetMin === 2, 'the next one is reserved')
  assert.equal(await batches.commit(), 0)
  assert.equal((await ick.stats()).totalSize, 1)
})

onEveryBackend('a batch that comes too late is for the next request', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  await ick.add([[1, 'a'], [2, 'b']])
  const { aborted, signal } = once()
  const batches = ick.batches(1, { waitMs: 0, signal })
  const asked = batches.next()
  aborted()
  await assert.rejects(asked, { name: 'AbortError' })
  assert.equal(await batches.commit(), 0)
  assert.deepEqual(await batches.next(), { done: false, value: [['a', 1]] })
  assert.deepEqual(await batches.next(), { done: false, value: [['b', 2]] })
  assert.equal(await batches.commit(), 1)
  assert.deepEqual(await batches.next(), { done: true, value: undefined })
  assert.equal((await ick.stats()).totalSize, 0)
})

/** A signal of another library, which aborts what is under way and can be used again. */
function once() {
  const target = new EventTarget()
  const signal = {
    aborted: false,
    addEventListener: (...given) => target.addEventListener(...given),
    removeEventListener: (...given) => target.removeEventListener(...given)
  }
  return { signal, aborted: () => target.dispatchEvent(new Event('abort')) }
}

onEveryBackend('a loop that is left while it asks', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  await ick.add([[1, 'a'], [2, 'b']])
  const batches = ick.batches(1, { waitMs: Infinity })
  await batches.next()
  const asked = batches.next()
  assert.deepEqual(await batches.return(), { done: true, value: undefined })
  assert.deepEqual(await asked, { done: true, value: undefined })
  await until(async () => (await ick.stats()).csetMin === 2, 'the next one is reserved')
  assert.equal(await batches.commit(), 0)
  assert.deepEqual(await batches.next(), { done: true, value: undefined })
  assert.deepEqual(await ick.reserve(10), [['b', 2]])
})

onEveryBackend('a loop that is left while it waits', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  const batches = ick.batches(1, { waitMs: Infinity })
  const asked = batches.next()
  await ick.stats()
  // Other calls have its number afterwards, and to leave it again does not touch them.
  await batches.return()
  const adds = [ick.add(['a']), ick.add(['b'])]
  await batches.return()
  assert.deepEqual(await asked, { done: true, value: undefined })
  assert.deepEqual(await Promise.all(adds), Array(2).fill({ new: 1, lowered: 0 }))
})

onEveryBackend('what aborts while its members are read is not sent', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  const controller = new AbortController()
  const members = function* () {
    yield 'a'
    controller.abort()
  }
  await assert.rejects(ick.add(members(), { signal: controller.signal }), { name: 'AbortError' })
  assert.equal(await ick.stats(), null)
})

onEveryBackend('loops that wait no more take no work from others', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  const idle = []
  for (let number = 0; number < 5; number += 1) {
    const controller = new AbortController()
    const batches = ick.batches(1, { waitMs: Infinity, signal: controller.signal })
    const refused = assert.rejects(batches.next(), { name: 'AbortError' })
    await ick.stats()
    await sleep(10) // it waits
    controller.abort()
    await refused
    idle.push(batches)
  }
  const over = ick.batches(1, { waitMs: 20 })
  assert.equal((await over.next()).done, true)
  idle.push(over)
  // It waits forever if another one is notified.
  const signal = AbortSignal.timeout(60_000)
  const asked = ick.batches(1, { waitMs: Infinity, signal }).next()
  await sleep(100)
  await ick.add([[1, 'a']])
  assert.deepEqual((await asked).value, [['a', 1]])
  assert.equal(idle.length, 6)
}, NEVER_POLLING)

test('connecting', async () => {
  const controller = new AbortController()
  const connecting = connect('memory:', { signal: controller.signal })
  controller.abort()
  await assert.rejects(connecting, { name: 'AbortError' })
  const name = newName()
  const client = await connect(`memory:${name}`, { signal: new AbortController().signal })
  await client.close()
})
