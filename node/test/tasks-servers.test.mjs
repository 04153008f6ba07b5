// What a task store does on servers alone.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connect, TimeoutError, WrongTypeError } from 'millpond'
import { Redis } from 'ioredis'

import { sharedServer, startServers } from './servers.mjs'
import { newName } from './support.mjs'

test('a key that holds something else', async () => {
  const { url } = await sharedServer()
  const name = newName()
  const redis = new Redis(url)
  await redis.set(`{${name}}:tasks`, 'x')
  redis.disconnect()
  const client = await connect(url)
  await assert.rejects(client.tasks(name).insert('q', 1), (error) => {
    assert.ok(error instanceof WrongTypeError)
    assert.equal(error.operation, 'tasks.modify')
    assert.ok(error.message.includes(name), error.message)
    return true
  })
  await client.close()
})

test('on a cluster', { timeout: 60_000 }, async () => {
  const server = await startServers('cluster')
  const client = await connect(server.url)
  // All keys of a store carry its name as their tag.
  const store = client.tasks('shop')
  await store.insert('inbox', { n: 1 })
  await store.worker('inbox').run((job) => ({
    ...job.delete(),
    inserts: [{ queue: 'outbox', value: job.task.value.n + 1 }],
    docInserts: [{ namespace: 'n', key: 'k' }]
  }))
  const waiting = store.claims(['inbox', 'outbox'], { max: 10, waitMs: Infinity })
  assert.equal((await waiting.next()).value[0].value, 2)
  const asked = waiting.next()
  await store.insert('inbox', 3)
  assert.equal((await asked).value[0].value, 3)
  assert.deepEqual(await store.namespaceStats(), [{ namespace: 'n', size: 1, claimed: 0 }])
  await client.close()
  await server.stop()
})

test('no reply', { timeout: 60_000 }, async () => {
  const server = await startServers()
  const client = await connect(server.url, { timeoutMs: 1500 })
  const store = client.tasks('shop')
  await store.insert('q', 1)
  const claims = store.claims('q')
  const { value: job } = await store.worker('q', { leaseMs: 3_000 }).jobs().next()
  await server.run('stop')
  const asked = assert.rejects(claims.next(), TimeoutError)
  await assert.rejects(job.done(), { code: 'TIMEOUT', retry: 'unknown' })
  await asked
  await server.run('cont')
  // A job whose end got no reply can be ended once more; it may have been done.
  await job.done().catch((error) => assert.equal(error.code, 'DEPENDENCY'))
  assert.deepEqual(await store.queues(), new Map())
  // A loop goes on after an error that a retry can fix.
  assert.deepEqual(await claims.next(), { done: true, value: undefined })
  await client.close()
  await server.stop()
})
