// Shuffle queues in Workers, and in programs that end.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'

import { connect } from 'millpond'

import { sharedServer } from './servers.mjs'
import { directory, newName, numbersOf } from './support.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const program = new URL('shuffle-worker.mjs', import.meta.url)

function startWorker(task, url, name, number = 0) {
  return new Worker(program, { workerData: { task, url, name, number } })
}

async function urls() {
  return [`memory:${newName()}`, (await sharedServer()).url]
}

test('workers share a queue', async () => {
  for (const url of await urls()) {
    const name = newName()
    const client = await connect(url)
    const queue = client.shuffleQueue(name)
    const workers = [0, 1, 2, 3].map((number) => startWorker('produce', url, name, number))
    const exits = workers.map((worker) => once(worker, 'exit'))
    const consumer = queue.consumer('g', 'main')
    const seen = []
    for await (const batch of consumer.messages({ max: 50, waitMs: 60_000 })) {
      seen.push(...numbersOf(batch))
      await consumer.ackAndDelete(batch)
      if (seen.length === 1000) break
    }
    assert.equal(new Set(seen).size, 1000)
    for (const [code] of await Promise.all(exits)) assert.equal(code, 0)
    await client.close()
  }
})

test('a message that another thread has read can be acknowledged', async () => {
  for (const url of await urls()) {
    const name = newName()
    const client = await connect(url)
    const queue = client.shuffleQueue(name)
    const worker = startWorker('hand on', url, name)
    const received = once(worker, 'message')
    await queue.write('tenant', { n: '1' })
    const [message] = await received
    assert.deepEqual(message.fields, [['n', '1']])
    assert.equal(await queue.consumer('g', 'main').ackAndDelete(message), 1)
    await worker.terminate()
    await client.close()
  }
})

test('a worker that is ended while it waits gets no message', async () => {
  for (const url of await urls()) {
    const client = await connect(url)
    const name = newName()
    const queue = client.shuffleQueue(name)
    const worker = startWorker('wait', url, name)
    await once(worker, 'message')
    await worker.terminate()
    const asked = queue.consumer('g', 'main').read({ waitMs: 20_000 })
    await queue.len()
    await queue.write('tenant', { n: '1' })
    assert.equal((await asked).field('n'), '1')
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
const queue = (await connect(url)).shuffleQueue(name, { trackKeys: 'queue' })
await queue.writeTracked('tenant', { n: '1' }, 'n', { deadline: 1_000_000_000 })
const consumer = queue.consumer('g', 'c')
const messages = consumer.messages({ waitMs: Infinity })
const garbage = queue.gc()
console.log((await messages.next()).value.length, (await garbage.next()).value)
`

test('a program ends with consumers, loops and messages that are idle', async () => {
  const file = `file:${path.join(await directory(), 'data')}`
  for (const url of [...(await urls()), file]) {
    assert.deepEqual(await run(IDLE, url), ["1 [ '1' ]\n", ''])
  }
})

test('not before a read has waited, and at once when it is aborted', async () => {
  const source = `
import { connect } from 'millpond'
const [url, name] = process.argv.slice(1)
const consumer = (await connect(url)).shuffleQueue(name).consumer('g', 'c')
consumer.read({ waitMs: 800 }).then((message) => console.log('waited', message))
const stop = new AbortController()
const endless = consumer.read({ waitMs: Infinity, signal: stop.signal })
setTimeout(() => stop.abort(), 50)
endless.catch((error) => console.log(error.name))
`
  for (const url of await urls()) {
    assert.deepEqual(await run(source, url), ['AbortError\nwaited null\n', ''])
  }
})

test('CommonJS', async () => {
  const source = `
const { connect } = require('millpond')
async function main() {
  const [url, name] = process.argv.slice(1)
  const queue = (await connect(url)).shuffleQueue(name)
  await queue.write('tenant', { n: '1' })
  for await (const [message] of queue.consumer('g', 'c').messages()) console.log(message.field('n'))
}
main()`
  for (const url of await urls()) assert.deepEqual(await run(source, url, []), ['1\n', ''])
})
