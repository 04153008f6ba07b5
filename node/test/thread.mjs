// What the threads of workers.test.mjs do with the queue of a row.

import { parentPort, workerData } from 'node:worker_threads'

import { connect } from 'millpond'

import { LOOPS, WAITS } from './kit.mjs'

const { task, url, row: rowName, name, number } = workerData
const row = LOOPS.find((one) => one.name === rowName)
const client = await connect(url)
const queue = row.open(client, name)

const TASKS = {
  async produce() {
    const values = Array.from({ length: 250 }, (_, index) => `${number}-${index}`)
    await Promise.all(values.map((value) => row.put(queue, value)))
    await client.close()
  },

  /** Waits for what never comes, before everything else. */
  async wait() {
    const asked = WAITS.filter(({ open }) => open === row.open).map((one) => one.wait(queue, { waitMs: Infinity }))
    await row.size(queue)
    parentPort.postMessage('waiting')
    await Promise.all(asked)
  },

  /** Hands on what it takes. */
  async 'hand on'() {
    for await (const batch of row.loop(queue, { waitMs: 60_000 })) parentPort.postMessage(batch)
  },

  /** Keeps calls of every kind under way, forever. */
  async busy() {
    await client.ick(`${name}-lease-${number}`).lease(60_000)
    row.loop(row.open(client, `${name}-empty`), { waitMs: Infinity }).next()
    const work = async (one) => {
      for (let index = 0; ; index += 1) {
        await row.put(queue, `${number}-${one}-${index}`)
        const { value } = await row.loop(queue, { max: 5 }).next()
        if (value !== undefined) await row.settle(queue, value)
      }
    }
    const working = Array.from({ length: 50 }, (_, one) => work(one))
    setTimeout(() => parentPort.postMessage('busy'), 10)
    await Promise.all(working)
  },

  async exit() {
    setTimeout(() => process.exit(7), 20)
    await TASKS.busy()
  },

  /** Keeps a job, forever; says so once it was renewed. */
  async keep() {
    const { value: job } = await queue.worker('q', { leaseMs: 60_000 }).jobs().next()
    const { id, claimant, version } = job.task
    while (job.handle.version === version) await new Promise((resolve) => setTimeout(resolve, 5))
    parentPort.postMessage({ id, claimant })
    await new Promise(() => setInterval(() => job.isLost, 10))
  }
}

await TASKS[task]()
