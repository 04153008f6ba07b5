// What a task store does on servers alone.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connect, TimeoutError, WrongTypeError } from 'millpond'
import { Redis } from 'ioredis'

import { sharedServer, startServers } from './servers.mjs'
import { newName, until } from './support.mjs'

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
  await store.worker('inbox').drain((job) => ({
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

/** Ends a job while the server replies to nothing, with calls that may take this long. */
async function endWithoutReply(server, timeoutMs) {
  const client = await connect(server.url, { timeoutMs })
  const store = client.tasks('shop')
  await store.insert('q', 1)
  const claims = store.claims('q')
  const { value: job } = await store.worker('q', { leaseMs: 60_000 }).jobs().next()
  await server.run('stop')
  await Promise.all([
    assert.rejects(claims.next(), TimeoutError),
    assert.rejects(job.done(), { code: 'TIMEOUT', retry: 'unknown' })
  ])
  await server.run('cont')
  // A job whose end got no reply can be ended once more; it may have been done.
  await job.done().catch((error) => assert.equal(error.code, 'LEASE_LOST'))
  assert.deepEqual(await store.queues(), new Map())
  // A loop goes on after an error that a retry can fix.
  assert.deepEqual(await claims.next(), { done: true, value: undefined })
  await client.close()
}

test('no reply', { timeout: 120_000 }, async () => {
  // Where the machine stands still any reply may be late: what fails is done again with more time.
  for (const timeoutMs of [1_500, 6_000, 24_000]) {
    const server = await startServers()
    try {
      return await endWithoutReply(server, timeoutMs)
    } catch (error) {
      if (timeoutMs === 24_000) throw error
    } finally {
      await server.stop()
    }
  }
})

test('a worker goes on when its server was away', { timeout: 60_000 }, async () => {
  const server = await startServers()
  const client = await connect(server.url)
  const store = client.tasks('shop')
  const queue = client.shuffleQueue('jobs')
  const produce = {
    tasks: () => store.insert('q', 1),
    messages: () => queue.write('ann', { n: '1' })
  }
  const workers = {
    tasks: store.worker('q'),
    messages: queue.consumer('workers', 'worker-1').worker({ delete: true })
  }
  const told = { tasks: [], messages: [] }
  const done = { tasks: 0, messages: 0 }
  const running = Object.entries(workers).map(([kind, worker]) =>
    worker.run(() => { done[kind] += 1 }, {
      onError: (job, error) => told[kind].push([job, error.message]),
      onEvent: ({ kind: event }) => told[kind].push(event)
    })
  )
  for (const kind in workers) {
    await produce[kind]()
    await until(() => told[kind].length === 1, 'a job is done')
  }
  await server.run('kill')
  for (const kind in workers) await until(() => told[kind].length === 3, 'the server is away')
  await server.run('restart')
  for (const kind in workers) {
    await until(() => told[kind].length === 5, 'the server is back')
    await until(() => produce[kind]().then(() => true, () => false), 'the client is connected')
    await until(() => done[kind] === 2, 'a job is done')
    workers[kind].stop()
  }
  await Promise.all(running)
  for (const kind in workers) {
    const [first, away, [of, why], back, [ofBack, again], last, ...more] = told[kind]
    assert.deepEqual([first, away, back, last, of, ofBack], ['done', 'away', 'back', 'done', null, null])
    assert.match(why, /refused|lost|closed|connect/i)
    assert.match(again, /the server is back/)
    assert.deepEqual(more, [])
  }
  await client.close()
  await server.stop()
})
