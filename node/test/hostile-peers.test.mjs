// A peer that sends a byte now and then, or reads nothing, holds no call beyond its timeout.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { connect } from 'millpond'

import { startServers } from './servers.mjs'

const timeoutMs = 400
const toleranceMs = 100

// A machine that is busy with other things may be late itself: one of this many calls is in time.
const attempts = 25

const large = Buffer.alloc(8 << 20, 'x')
const codes = ['TIMEOUT', 'CONNECTION_FAILED', 'UNAVAILABLE']

let servers
before(async () => {
  servers = await startServers('hostile')
})
after(() => servers.stop())

async function elapsedMs(url, member) {
  const client = await connect(url, { timeoutMs })
  const began = performance.now()
  await assert.rejects(client.ick('k').add([[1, member]]), ({ code }) => codes.includes(code))
  const elapsed = performance.now() - began
  await client.close()
  return elapsed
}

test('every call ends in time', { timeout: 60_000 }, async () => {
  const endsInTime = async (url, index, { length }) => {
    // The last one never reads: it takes only what the buffers hold.
    const member = index === length - 1 ? large : 'x'
    const took = []
    while (took.length < attempts) {
      took.push(await elapsedMs(url, member))
      if (took.at(-1) < timeoutMs + toleranceMs) return
    }
    assert.fail(`${url}: ${took}`)
  }
  await Promise.all(servers.url.split(' ').map(endsInTime))
})
