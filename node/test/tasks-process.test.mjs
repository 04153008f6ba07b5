// Task stores in threads, in programs that end and in programs that are killed.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'

import { connect, Task } from 'millpond'

import { sharedServer } from './servers.mjs'
import { directory, newName, RENEWING, untilNotRenewed } from './support.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const program = new URL('tasks-thread.mjs', import.meta.url)

function startThread(task, url, name, number = 0) {
  return new Worker(program, { workerData: { task, url, name, number } })
}

async function urls() {
  return [`memory:${newName()}`, (await sharedServer()).url]
}

test('threads share a store', async () => {
  for (const url of await urls()) {
    const name = newName()
    const client = await connect(url)
    const store = client.tasks(name)
    const threads = [0, 1, 2, 3].map((number) => startThread('produce', url, name, number))
    const exits = threads.map((thread) => once(thread, 'exit'))
    const seen = []
    for await (const tasks of store.claims('q', { max: 50, waitMs: 60_000 })) {
      seen.push(...tasks.map(({ value }) => value))
      await store.modify({ deletes: tasks })
      if (seen.length === 1000) break
    }
    assert.equal(new Set(seen).size, 1000)
    for (const [code] of await Promise.all(exits)) assert.equal(code, 0)
    assert.deepEqual(await store.queues(), new Map())
    await client.close()
  }
})

test('a task that another thread has claimed can be changed', async () => {
  for (const url of await urls()) {
    const name = newName()
    const client = await connect(url)
    const store = client.tasks(name, { claimant: 'somebody' })
    const thread = startThread('hand on', url, name)
    const received = once(thread, 'message')
    await store.insert('q', { a: 'é' })
    const [sent] = await received
    const task = new Task(sent)
    assert.deepEqual(task.value, { a: 'é' })
    await store.modify({ depends: [sent] })
    await store.modify({ changes: [task.change({ queue: 'r' })] })
    assert.deepEqual(await store.queues(), new Map([['r', 1]]))
    await thread.terminate()
    await client.close()
  }
})

test('a thread that is ended while it waits gets no task', async () => {
  for (const url of await urls()) {
    const name = newName()
    const client = await connect(url)
    const store = client.tasks(name)
    const thread = startThread('wait', url, name)
    await once(thread, 'message')
    await thread.terminate()
    const asked = store.claims('q', { waitMs: 20_000 }).next()
    await store.time()
    await store.insert('q', 1)
    assert.equal((await asked).value[0].value, 1)
    await client.close()
  }
})

test('the job of a thread that is ended is not renewed', async () => {
  for (const url of await urls()) {
    const name = newName()
    const client = await connect(`${url}${RENEWING}`)
    const store = client.tasks(name)
    await store.insert('q', 1)
    const thread = startThread('keep', `${url}${RENEWING}`, name)
    const [{ id, claimant }] = await once(thread, 'message')
    await thread.terminate()
    const task = await untilNotRenewed(store, id)
    assert.deepEqual([task.claims, task.claimant], [1, claimant])
    // Its lease ends here, since a minute is long.
    await client.tasks(name, { claimant }).renew({ tasks: [task] }, { leaseMs: 50 })
    const { value } = await store.claims('q', { waitMs: 60_000 }).next()
    assert.equal(value[0].claims, 2)
    await client.close()
  }
})

/** Runs a program; it is killed, and the test fails, if it does not end. */
async function run(source, url, options = ['--input-type=module']) {
  const limits = { cwd: here, timeout: 60_000, killSignal: 'SIGKILL' }
  const given = [...options, '-e', source, '--', url, newName()]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, given, limits)
  return [stdout, stderr]
}

const IDLE = `
import { connect } from 'millpond'
const [url, name] = process.argv.slice(1)
const store = (await connect(url)).tasks(name)
await store.modify({ inserts: [1, 2].map((value) => ({ queue: 'q', value })) })
const claims = store.claims('q', { waitMs: Infinity })
const jobs = store.worker('q', { waitMs: Infinity }).jobs()
const claimed = (await claims.next()).value
const { value: job } = await jobs.next()
console.log(claimed.length, job.signal.aborted)
`

test('a program ends with loops and jobs that are idle', async () => {
  const file = `file:${path.join(await directory(), 'data')}`
  for (const url of [...(await urls()), file]) {
    assert.deepEqual(await run(IDLE, url), ['1 false\n', ''])
  }
})

test('not before a claim has waited, and at once when it is aborted', async () => {
  const source = `
import { connect } from 'millpond'
const [url, name] = process.argv.slice(1)
const store = (await connect(url)).tasks(name)
store.claims('q', { waitMs: 800 }).next().then(({ done }) => console.log('waited', done))
const stop = new AbortController()
const endless = store.worker('q').run(() => {}, { signal: stop.signal })
setTimeout(() => stop.abort(), 50)
endless.catch((error) => console.log(error.name))
`
  for (const url of await urls()) {
    assert.deepEqual(await run(source, url), ['AbortError\nwaited true\n', ''])
  }
})

test('CommonJS', async () => {
  const source = `
const { connect } = require('millpond')
async function main() {
  const [url, name] = process.argv.slice(1)
  const store = (await connect(url)).tasks(name)
  await store.insert('q', { n: 1 })
  await store.worker('q').drain((job) => console.log(job.task.value))
  console.log(await store.areEmpty({ exact: ['q'] }))
}
main()`
  for (const url of await urls()) {
    assert.deepEqual(await run(source, url, []), ['{ n: 1 }\ntrue\n', ''])
  }
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
  const child = spawn(process.execPath, options, { cwd: here, stdio: ['ignore', 'pipe', 'inherit'] })
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

const DEPLOYED = `
import { connect } from 'millpond'
const [url, name] = process.argv.slice(1)
const client = await connect(url)
const worker = client.tasks(name).worker('q', { concurrency: 5, prefetch: 5, leaseMs: 60_000 })
await worker.run(async (job) => {
  console.log(job.task.value)
  await new Promise((resolve) => setTimeout(resolve, 20))
  return { ...job.delete(), inserts: [{ queue: 'done', value: job.task.value }] }
})
console.log(process.listenerCount('SIGTERM'))
await client.close()
`

test('a signal stops a worker, and nothing is lost or repeated', { timeout: 120_000 }, async () => {
  const { url } = await sharedServer()
  const name = newName()
  const client = await connect(url)
  const store = client.tasks(name)
  const values = Array.from({ length: 100 }, (_, number) => `job ${number}`)
  await store.modify({ inserts: values.map((value) => ({ queue: 'q', value })) })
  const begun = []
  while (begun.length < values.length) {
    const options = ['--input-type=module', '-e', DEPLOYED, '--', url, name]
    const child = spawn(process.execPath, options, { cwd: here, stdio: ['ignore', 'pipe', 'inherit'] })
    const lines = []
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (data) => {
      text += data
      lines.splice(0, lines.length, ...text.split('\n').slice(0, -1))
      const isEnough = lines.length >= 30 || begun.length + lines.length === values.length
      if (isEnough && !child.killed) child.kill('SIGTERM')
    })
    const [code] = await once(child, 'close')
    // Its own listeners are gone then.
    assert.deepEqual([code, lines.pop()], [0, '0'])
    begun.push(...lines)
    const [left] = await store.queueStats({ exact: ['q'] })
    assert.equal(left?.claimed ?? 0, 0)
  }
  assert.deepEqual(begun.sort(), values.sort())
  const done = []
  for await (const tasks of store.claims('done', { max: 100 })) done.push(...tasks.map(({ value }) => value))
  assert.deepEqual(done.sort(), values)
  await client.close()
})

test('a second signal stops at once', { timeout: 60_000 }, async () => {
  const { url } = await sharedServer()
  const name = newName()
  const client = await connect(url)
  const store = client.tasks(name)
  await store.insert('q', 1)
  const source = `
import { connect } from 'millpond'
const [url, name] = process.argv.slice(1)
const worker = (await connect(url)).tasks(name).worker('q', { leaseMs: 60_000 })
await worker.run(({ signal }) => new Promise(() => {
  console.log('at work')
  signal.addEventListener('abort', () => console.log(signal.reason.code))
}))
console.log('over')
`
  const options = ['--input-type=module', '-e', source, '--', url, name]
  const child = spawn(process.execPath, options, { cwd: here, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (data) => {
    text += data
    if (text === 'at work\n') {
      child.kill('SIGINT')
      setTimeout(() => child.kill('SIGTERM'), 100)
    }
  })
  assert.deepEqual(await ended, [0, null])
  assert.deepEqual(text.split('\n').sort(), ['', 'LEASE_LOST', 'at work', 'over'])
  assert.equal((await store.claim('q')).attempt, 0)
  await client.close()
})

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
