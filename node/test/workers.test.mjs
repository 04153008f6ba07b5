// Threads of JavaScript have clients of their own and share engines, and one that is ended in the
// middle of its calls does no harm.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'

import { connect } from 'millpond'

import { LOOPS, next } from './kit.mjs'
import { sharedServer } from './servers.mjs'
import { NEVER_POLLING, newName, RENEWING, until, untilNotRenewed } from './support.mjs'

const program = new URL('thread.mjs', import.meta.url)

/** A test of each loop, with threads, in memory and on a server. */
function onEveryLoop(title, run, loops = LOOPS, urlOptions = '') {
  const ofRow = (row) => async () => {
    for (const shared of [`memory:${newName()}`, (await sharedServer()).url]) {
      const url = `${shared}${urlOptions}`
      const name = newName()
      const client = await connect(url)
      const start = (task, number = 0, own = name) =>
        new Worker(program, { workerData: { task, url, row: row.name, name: own, number } })
      await run({ ...row, client, queue: row.open(client, name), name, start })
      await client.close()
    }
  }
  describe(title, () => loops.forEach((row) => test(row.name, { timeout: 120_000 }, ofRow(row))))
}

onEveryLoop('workers share a queue', async ({ queue, size, loop, valuesOf, settle, start }) => {
  const threads = [0, 1, 2, 3].map((number) => start('produce', number))
  const exits = threads.map((thread) => once(thread, 'exit'))
  const seen = []
  for await (const batch of loop(queue, { max: 50, waitMs: 60_000 })) {
    seen.push(...valuesOf(batch))
    await settle(queue, batch)
    if (seen.length === 1000) break
  }
  assert.equal(new Set(seen).size, 1000)
  for (const [code] of await Promise.all(exits)) assert.equal(code, 0)
  assert.equal(await size(queue), 0)
})

onEveryLoop('what a worker has taken can be settled by another', async (row) => {
  const { queue, put, size, valuesOf, settle, start } = row
  const thread = start('hand on')
  const received = once(thread, 'message')
  await put(queue, 'é')
  const [batch] = await received
  assert.deepEqual(valuesOf(batch), ['é'])
  await settle(queue, batch)
  assert.equal(await size(queue), 0)
  await thread.terminate()
}, LOOPS.filter(({ isJob }) => !isJob))

onEveryLoop('a worker that is ended while it waits gets nothing', async (row) => {
  const { queue, put, size, loop, start } = row
  const thread = start('wait')
  await once(thread, 'message')
  await thread.terminate()
  const asked = next(row, loop(queue, { waitMs: 60_000 }))
  await size(queue)
  await put(queue, 'a')
  assert.deepEqual(await asked, ['a'])
}, LOOPS, NEVER_POLLING)

onEveryLoop('a worker that is ended in the middle of its calls', async ({ client, queue, put, size, start }) => {
  const turns = 3
  for (let turn = 0; turn < turns; turn += 1) {
    const name = newName()
    const threads = [0, 1].map((number) => start('busy', number, name))
    await Promise.all(threads.map((thread) => once(thread, 'message')))
    await Promise.all(threads.map((thread) => thread.terminate()))
    // Its leases are released, long before they would expire.
    for (const number of [0, 1]) {
      const lease = () => client.ick(`${name}-lease-${number}`).lease(60_000)
      await until(async () => (await lease()) !== null, 'the lease is free')
    }
    await put(queue, `${turn}`)
  }
  assert.equal(await size(queue), turns)
})

onEveryLoop('a worker that ends by itself with calls under way', async ({ start }) => {
  assert.deepEqual(await once(start('exit'), 'exit'), [7])
})

onEveryLoop('the job of a worker that is ended is not renewed', async ({ client, queue, name, put, start }) => {
  await put(queue, 'a')
  const thread = start('keep')
  const [{ id, claimant }] = await once(thread, 'message')
  await thread.terminate()
  const task = await untilNotRenewed(queue, id)
  assert.deepEqual([task.claims, task.claimant], [1, claimant])
  // Its lease ends here, since a minute is long.
  await client.tasks(name, { claimant }).renew({ tasks: [task] }, { leaseMs: 50 })
  const { value } = await queue.claims('q', { waitMs: 60_000 }).next()
  assert.equal(value[0].claims, 2)
}, LOOPS.filter(({ isJob }) => isJob), RENEWING)

test('an addon that only workers have loaded', async () => {
  const source = `
    const { once } = require('node:events')
    const { Worker } = require('node:worker_threads')
    async function main() {
      const [program, url, name, row] = process.argv.slice(1)
      for (let turn = 0; turn < 5; turn += 1) {
        const workerData = { task: 'busy', url, row, name: name + turn, number: 0 }
        const worker = new Worker(new URL(program), { workerData })
        await once(worker, 'message')
        await worker.terminate()
        // The threads of the core continue: they release leases, and renew what is left.
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      console.log('done')
    }
    main()`
  for (const url of [`memory:${newName()}`, (await sharedServer()).url]) {
    const options = ['-e', source, '--', program.href, url, newName(), LOOPS[0].name]
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
