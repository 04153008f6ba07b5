// What the threads of tasks-process.test.mjs do.

import { parentPort, workerData } from 'node:worker_threads'

import { connect } from 'millpond'

const { task, url, name, number } = workerData
const client = await connect(url)
const store = client.tasks(name, { claimant: 'somebody' })

async function produce() {
  const numbers = Array.from({ length: 250 }, (_, index) => `${number}-${index}`)
  await Promise.all(numbers.map((value) => store.insert('q', value)))
  await client.close()
}

/** Waits for tasks that never come, before everything else. */
async function wait() {
  const options = { waitMs: Infinity }
  const worker = store.worker('q', options)
  const asked = [store.claims('q', options).next(), worker.jobs().next(), worker.run(() => {})]
  await store.time()
  parentPort.postMessage('waiting')
  await Promise.all(asked)
}

/** Hands on what it claims. */
async function handOn() {
  for await (const [claimed] of store.claims('q', { waitMs: 20_000 })) {
    parentPort.postMessage(claimed)
  }
}

/** Keeps a job, forever; says so once it was renewed. */
async function keep() {
  const { value: job } = await store.worker('q', { leaseMs: 60_000 }).jobs().next()
  const { id, claimant, version } = job.task
  while (job.handle.version === version) await new Promise((resolve) => setTimeout(resolve, 5))
  parentPort.postMessage({ id, claimant })
  await new Promise(() => setInterval(() => job.isLost, 10))
}

if (task === 'produce') await produce()
if (task === 'wait') await wait()
if (task === 'hand on') await handOn()
if (task === 'keep') await keep()
