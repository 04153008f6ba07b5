// What a task store does on servers and files alone.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { connect, WrongTypeError } from 'millpond'
import { Redis } from 'ioredis'

import { sharedServer, withoutReplies } from './servers.mjs'
import { directory, newName, RENEWING, untilNotRenewed } from './support.mjs'

test('a key that holds something else', async () => {
  const { url } = await sharedServer()
  const name = newName()
  const redis = new Redis(url)
  await redis.set(`{${name}}:tasks`, 'x')
  redis.disconnect()
  const client = await connect(url)
  await assert.rejects(client.tasks(name).insert('q', 1), (error) => {
    assert.ok(error instanceof WrongTypeError)
    assert.equal(error.operation, 'tasks.insert')
    assert.ok(error.message.includes(name), error.message)
    return true
  })
  await client.close()
})

test('no reply', { timeout: 120_000 }, () => withoutReplies(async (server, timeoutMs) => {
  const client = await connect(server.url, { timeoutMs })
  const store = client.tasks('shop')
  await store.insert('q', 1)
  const { value: job } = await store.worker('q', { leaseMs: 60_000 }).jobs().next()
  await server.run('stop')
  await assert.rejects(job.done(), { code: 'TIMEOUT', retry: 'unknown' })
  await server.run('cont')
  // A job whose end got no reply can be ended once more; it may have been done.
  await job.done().catch((error) => assert.equal(error.code, 'LEASE_LOST'))
  assert.deepEqual(await store.queues(), new Map())
  await client.close()
}))

test('a file keeps its tasks', async () => {
  const url = `file:${await directory()}`
  const client = await connect(url)
  const store = client.tasks('shop')
  await store.modify({
    inserts: [{ queue: 'q', value: 'é', id: 'a' }],
    docInserts: [{ namespace: 'n', key: 'k', id: 'd', content: { a: 1 } }]
  })
  const task = await store.claim('q', { leaseMs: 60_000 })
  const { docs } = await store.listDocs('n')
  await client.close()
  const again = (await connect(url)).tasks('shop', { claimant: task.claimant })
  assert.deepEqual(await again.fetch(['a']), [task])
  assert.deepEqual(await again.fetchDocs('n', ['d']), docs)
  await again.modify({ deletes: [task], docDeletes: docs })
})

test('the task of a program that is killed comes back', async () => {
  const { url } = await sharedServer()
  const name = newName()
  const client = await connect(`${url}${RENEWING}`)
  const store = client.tasks(name)
  await store.insert('q', 1)
  const source = `
import { connect } from 'millpond'
const [url, name] = process.argv.slice(1)
const worker = (await connect(url)).tasks(name).worker('q', { leaseMs: 60_000 })
await worker.run(() => new Promise(() => setInterval(console.log, 10, 'at work')))
`
  const options = ['--input-type=module', '-e', source, '--', `${url}${RENEWING}`, name]
  const cwd = fileURLToPath(new URL('.', import.meta.url))
  const child = spawn(process.execPath, options, { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  assert.equal(await store.claim('q'), null)
  child.kill('SIGKILL')
  const [{ id, claimant }] = (await store.list('q')).tasks
  const task = await untilNotRenewed(store, id)
  // Its lease ends here, since a minute is long.
  await client.tasks(name, { claimant }).renew({ tasks: [task] }, { leaseMs: 50 })
  const { value } = await store.claims('q', { waitMs: 60_000 }).next()
  assert.deepEqual([value[0].claims, value[0].attempt], [2, 0])
  await client.close()
})
