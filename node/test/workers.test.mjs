// Threads of JavaScript have clients of their own and share engines, and one that is ended in the
// middle of its calls does no harm.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'

import { connect } from 'millpond'

import { sharedServer } from './servers.mjs'
import { membersOf, newName, until } from './support.mjs'

const program = new URL('worker.mjs', import.meta.url)

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
    const workers = [0, 1, 2, 3].map((number) => startWorker('produce', url, name, number))
    const exits = workers.map((worker) => once(worker, 'exit'))
    const seen = []
    for await (const batch of client.ick(name).batches(50, { waitMs: Infinity })) {
      seen.push(...membersOf(batch))
      if (seen.length === 2000) break
    }
    assert.equal(new Set(seen).size, 2000)
    for (const [code] of await Promise.all(exits)) assert.equal(code, 0)
    await client.close()
  }
})

test('a worker that is ended in the middle of its calls', async () => {
  for (const url of await urls()) {
    const client = await connect(url)
    const ick = client.ick(newName())
    for (let turn = 0; turn < 10; turn += 1) {
      const name = newName()
      const workers = [0, 1].map((number) => startWorker('busy', url, name, number))
      await Promise.all(workers.map((worker) => once(worker, 'message')))
      await Promise.all(workers.map((worker) => worker.terminate()))
      // Its leases are released, long before they would expire.
      for (const number of [0, 1]) {
        const lease = () => client.ick(`${name}-lease-${number}`).lease(60_000)
        await until(async () => (await lease()) !== null, 'the lease is free')
      }
      assert.equal((await ick.add([[turn, `${turn}`]])).new, 1)
    }
    assert.equal((await ick.reserve(100)).length, 10)
    await client.close()
  }
})

test('a worker that is ended while it waits gets no work', async () => {
  for (const url of await urls()) {
    const client = await connect(url)
    const name = newName()
    const worker = startWorker('wait', url, name)
    await once(worker, 'message')
    await worker.terminate()
    const signal = AbortSignal.timeout(20_000)
    const asked = client.ick(name).batches(1, { waitMs: Infinity, signal }).next()
    await client.ick(name).stats()
    await client.ick(name).add([[1, 'a']])
    assert.deepEqual((await asked).value, [['a', 1]])
    await client.close()
  }
})

test('a worker that ends by itself with calls under way', async () => {
  for (const url of await urls()) {
    const worker = startWorker('exit', url, newName())
    assert.deepEqual(await once(worker, 'exit'), [7])
  }
})

test('an addon that only workers have loaded', async () => {
  const source = `
    const { once } = require('node:events')
    const { Worker } = require('node:worker_threads')
    async function main() {
      const [program, url, name] = process.argv.slice(1)
      for (let turn = 0; turn < 5; turn += 1) {
        const workerData = { task: 'busy', url, name: name + turn, number: 0 }
        const worker = new Worker(new URL(program), { workerData })
        await once(worker, 'message')
        await worker.terminate()
        // The threads of the core continue: they release leases, and renew what is left.
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      console.log('done')
    }
    main()`
  for (const url of await urls()) {
    const options = ['-e', source, '--', program.href, url, newName()]
    const ran = await promisify(execFile)(process.execPath, options, { timeout: 60_000 })
    assert.deepEqual([ran.stdout, ran.stderr], ['done\n', ''])
  }
})

test('both kinds of modules have the same classes', async () => {
  const source = `
    const required = require('millpond')
    import('millpond').then((imported) => {
      const { default: _, ...names } = imported
      for (const name of Object.keys(required)) {
        if (required[name] !== imported[name]) throw new Error(name)
      }
      console.log(Object.keys(names).length === Object.keys(required).length)
    })`
  const cwd = fileURLToPath(new URL('.', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', source], { cwd })
  assert.equal(stdout, 'true\n')
})
