// A peer that sends a byte now and then holds no call beyond its timeout.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { connect } from 'millpond'

import { startServers } from './servers.mjs'

// So long that no machine holds a call up for as long again.
const timeoutMs = 10_000

let servers
before(async () => {
  servers = await startServers('hostile')
})
after(() => servers.stop())

test('every call ends in time', { timeout: 120_000 }, async () => {
  const client = await connect(servers.url, { timeoutMs })
  const began = performance.now()
  await assert.rejects(client.ick('k').add([[1, 'x']]), { code: 'TIMEOUT' })
  const took = performance.now() - began
  await client.close()
  assert.ok(took < 1.9 * timeoutMs, `${took} ms`)
})
