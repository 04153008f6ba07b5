// Nothing grows with the number of calls.

import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'

import { connect } from 'millpond'

import { sharedServer } from './servers.mjs'
import { directory, newName } from './support.mjs'

const GROWTH_BYTES_MAX = 16 * 1024 * 1024

/** Makes so many calls, of every kind, 50 at a time; some fail and some are aborted. */
async function use(client, name, calls) {
  const CALLS_A_TURN = 10
  const one = async (number) => {
    const ick = client.ick(`${name}-${number}`, { returnBuffers: number % 2 === 0 })
    for (let turn = 0; turn < calls / 50 / CALLS_A_TURN; turn += 1) {
      await ick.add([[1, 'a'], [2, Buffer.from('b')], [3, `c${turn}`]])
      await ick.stats()
      await ick.reserve(10)
      await ick.add([[NaN, 'x']]).catch(() => {})
      const controller = new AbortController()
      const aborted = ick.peek(1, { signal: controller.signal }).catch(() => {})
      controller.abort()
      await aborted
      await ick.commit(['a'])
      const batches = ick.batches(10)
      while (!(await batches.next()).done);
      const lease = await ick.lease(1000)
      await lease.release()
    }
    await ick.delete()
  }
  await Promise.all(Array.from({ length: 50 }, (_, number) => one(number)))
}

async function grows(url, calls) {
  const client = await connect(url)
  const name = newName()
  const resident = () => {
    globalThis.gc()
    return process.memoryUsage.rss()
  }
  await use(client, name, calls / 5)
  const before = resident()
  await use(client, name, calls)
  const grown = resident() - before
  await client.close()
  assert.ok(grown < GROWTH_BYTES_MAX, `${grown} bytes`)
}

test('a million calls', { timeout: 300_000 }, () => grows('memory:', 1_000_000))

test('on a file', { timeout: 300_000 }, async () => {
  await grows(`file:${path.join(await directory(), 'data')}?sync=never`, 200_000)
})

test('on a server', { timeout: 300_000 }, async () => {
  await grows((await sharedServer()).url, 200_000)
})

test('a loop keeps its lease', async () => {
  const ick = (await connect('memory:')).ick('x')
  const loop = async () => (await ick.lease(60_000)).batches(1)
  const batches = await loop()
  for (let count = 0; count < 20; count += 1) {
    globalThis.gc()
    await turn()
  }
  assert.equal(await ick.lease(60_000), null)
  assert.equal((await batches.next()).done, true)
})

test('clients that are forgotten', { timeout: 300_000 }, async () => {
  const { url } = await sharedServer()
  const some = async (count) => {
    for (let number = 0; number < count; number += 1) {
      const client = await connect(number % 2 ? url : 'memory:')
      await client.ick('x').add(['a'])
    }
    globalThis.gc()
  }
  await some(200)
  const before = process.memoryUsage.rss()
  await some(1000)
  assert.ok(process.memoryUsage.rss() - before < GROWTH_BYTES_MAX)
})
