// Every kind of server works from Node: what the URL says reaches the core.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { connect, CrossSlotError, InvalidUrlError } from 'millpond'

import { CALLS, WAITS } from './kit.mjs'
import { sharedServer, startServers } from './servers.mjs'

/** Checks that each wait is woken there, and that no call needs keys of several slots. */
async function serves(client) {
  for (const { name, open, put, wait } of WAITS) {
    const queue = open(client, `{${name}}`)
    const asked = wait(queue, { waitMs: Infinity })
    await put(queue, 'a')
    assert.deepEqual(await asked, ['a'], name)
  }
  const { Client: _, ...rows } = CALLS
  for (const [name, { open, calls }] of Object.entries(rows)) {
    const queue = await open(client, `{${name}}`)
    for (const [method, args] of Object.entries(calls)) {
      const error = await queue[method](...args).catch((error) => error)
      assert.notEqual(error?.code, 'CROSS_SLOT', `${name} ${method}`)
    }
  }
}

describe('kinds of servers', () => {
  for (const kind of ['redis', 'tls', 'sentinel', 'cluster']) {
    test(kind, { timeout: 120_000 }, async () => {
      const server = await startServers(kind)
      const url = kind === 'tls' ? `${server.url}?tls_ca=${server.ca_file}` : server.url
      const client = await connect(url)
      await serves(client)
      if (kind === 'cluster') {
        assert.deepEqual(await client.ick('documents').add([[1, 'a.txt']]), { new: 1, lowered: 0 })
        await assert.rejects(client.ick('a{b').stats(), CrossSlotError)
        await assert.rejects(client.shuffleQueue('jobs').len(), CrossSlotError)
      }
      await client.close()
      await server.stop()
    })
  }
})

test('a Unix socket', async () => {
  const client = await connect((await sharedServer()).unix_url)
  assert.equal((await client.ick('by-unix-socket').add(['a.txt'])).new, 1)
  await client.close()
})

test('a certificate of an unknown authority', async () => {
  const server = await startServers('tls')
  const client = await connect(server.url)
  await assert.rejects(client.ick('documents').stats(), (error) => {
    assert.ok(error instanceof InvalidUrlError)
    assert.match(error.message, /certificate/)
    return true
  })
  await client.close()
  await server.stop()
})
