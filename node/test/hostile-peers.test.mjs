// A peer that sends a byte now and then holds no call beyond its timeout.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { connect } from 'millpond'

import { startServers } from './servers.mjs'

// A call that takes more times its timeout than this one is late.
const late = 1.9

// A machine that is busy may be late itself. A call that is late is made again with twice the time, so
// that only what takes longer than it may on a machine of any speed is late each time.
const timeoutsMs = [400, 800, 1_600, 3_200, 6_400, 12_800]

let servers
before(async () => {
  servers = await startServers('hostile')
})
after(() => servers.stop())

async function elapsedMs(timeoutMs) {
  const client = await connect(servers.url, { timeoutMs })
  const began = performance.now()
  await assert.rejects(client.ick('k').add([[1, 'x']]), { code: 'TIMEOUT' })
  const elapsed = performance.now() - began
  await client.close()
  return elapsed
}

test('every call ends in time', { timeout: 120_000 }, async () => {
  const took = []
  for (const timeoutMs of timeoutsMs) {
    took.push(await elapsedMs(timeoutMs))
    if (took.at(-1) < timeoutMs * late) return
  }
  assert.fail(`${took}`)
})
