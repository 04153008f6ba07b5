// Many calls at once share everything, and none of them holds up the event loop.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import path from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'

import { Redis } from 'ioredis'

import { sharedServer, startServers } from './servers.mjs'
import { directory, newName, onEveryBackend } from './support.mjs'

// How often results are fetched from the native half is counted from its first use on.
const native = createRequire(import.meta.url)('../lib/native.js')
const { drain } = native.Calls.prototype
let drains = 0
native.Calls.prototype.drain = function (...given) {
  drains += 1
  return drain.apply(this, given)
}
const { connect } = await import('millpond')

test('a thousand calls share a connection, and their results come in batches', async () => {
  const { url } = await sharedServer()
  const name = newName()
  const client = await connect(url, { clientName: name })
  const ick = client.ick(name)
  await ick.stats()
  drains = 0
  const calls = Array.from({ length: 1000 }, (_, number) => ick.add([[number, `${number}`]]))
  for (const added of await Promise.all(calls)) assert.deepEqual(added, { new: 1, lowered: 0 })
  assert.ok(drains < 250, `${drains} times`)
  assert.equal((await ick.reserve(2000)).length, 1000)
  const redis = new Redis(url)
  const listed = (await redis.client('LIST')).split('\n')
  redis.disconnect()
  assert.equal(listed.filter((line) => line.includes(` name=${name} `)).length, 1)
  await client.close()
})

onEveryBackend('more calls than rows', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  const count = 3000
  const results = await Promise.all(
    Array.from({ length: count }, (_, number) => {
      if (number % 3 === 0) return ick.add([[number, `${number}`]])
      return number % 3 === 1 ? ick.peek(1) : ick.add([[NaN, 'x']]).catch((error) => error.code)
    })
  )
  for (const [number, result] of results.entries()) {
    if (number % 3 === 0) assert.equal(result.new, 1)
    else if (number % 3 === 1) assert.ok(Array.isArray(result))
    else assert.equal(result, 'INVALID_ARGUMENT')
  }
  assert.equal((await ick.stats()).psetSize, count / 3)
})

onEveryBackend('results come in the order of the calls', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  const order = []
  const calls = Array.from({ length: 20 }, (_, number) => ick.stats().then(() => order.push(number)))
  await Promise.all(calls)
  assert.deepEqual(order, Array.from({ length: 20 }, (_, number) => number))
})

/** Counts the turns of the event loop until something is done. */
async function turnsDuring(done) {
  let turns = 0
  let isOver = false
  const over = done.finally(() => {
    isOver = true
  })
  while (!isOver) {
    await turn()
    turns += 1
  }
  await over
  return turns
}

test('the event loop goes on while a call waits', async () => {
  const server = await startServers()
  const client = await connect(server.url, { timeoutMs: 60_000 })
  const ick = client.ick('x')
  await ick.add(['a'])
  await server.run('stop')
  const call = ick.add(['b'])
  for (let number = 0; number < 1000; number += 1) await turn()
  await server.run('cont')
  assert.equal((await call).new, 1)
  await client.close()
  await server.stop()
})

test('the event loop goes on while a big file is read, written and closed', async () => {
  const url = `file:${path.join(await directory(), 'data')}?sync=1m`
  const client = await connect(url)
  const padding = 'x'.repeat(200)
  for (let batch = 0; batch < 40; batch += 1) {
    const members = Array.from({ length: 5000 }, (_, number) => `${batch}-${number}-${padding}`)
    await client.ick(`x${batch}`).add(members)
  }
  assert.ok((await turnsDuring(client.close())) > 10)
  const opening = connect(url)
  assert.ok((await turnsDuring(opening)) > 10)
  assert.equal((await (await opening).ick('x7').stats()).psetSize, 5000)
  await (await opening).close()
})
