// Every kind of server works from Node: what the URL says reaches the core.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { connect, CrossSlotError, InvalidUrlError } from 'millpond'

import { sharedServer, startServers } from './servers.mjs'

describe('kinds of servers', () => {
  for (const kind of ['redis', 'tls', 'sentinel', 'cluster']) {
    test(kind, { timeout: 60_000 }, async () => {
      const server = await startServers(kind)
      const url = kind === 'tls' ? `${server.url}?tls_ca=${server.ca_file}` : server.url
      const client = await connect(url)
      assert.deepEqual(await client.ick('documents').add([[1, 'a.txt']]), { new: 1, lowered: 0 })
      assert.deepEqual(await client.ick('documents').reserve(10), [['a.txt', 1]])
      if (kind === 'cluster') await assert.rejects(client.ick('a{b').stats(), CrossSlotError)
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
