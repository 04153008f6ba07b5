// What an AbortSignal does to a call: it ends the wait, never the step. What it does to every call and every wait is in
// calls.test.mjs and waiting.test.mjs.

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'

import { connect } from 'millpond'

import { startServers } from './servers.mjs'
import { newName, onEveryBackend, until } from './support.mjs'

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

test('connecting', async () => {
  await assert.rejects(connect('memory:', { signal: AbortSignal.abort() }), { name: 'AbortError' })
  const controller = new AbortController()
  const connecting = connect('memory:', { signal: controller.signal })
  controller.abort()
  await assert.rejects(connecting, { name: 'AbortError' })
  const name = newName()
  const client = await connect(`memory:${name}`, { signal: new AbortController().signal })
  await client.close()
})
