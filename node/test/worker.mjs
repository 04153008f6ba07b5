// What the workers of workers.test.mjs do.

import { parentPort, workerData } from 'node:worker_threads'

import { connect } from 'millpond'

const { task, url, name, number } = workerData
const client = await connect(url)

async function produce() {
  const ick = client.ick(name)
  const adds = Array.from({ length: 500 }, (_, index) => ick.add([[index, `${number}-${index}`]]))
  await Promise.all(adds)
  await client.close()
}

/** Keeps calls of every kind under way, forever. */
async function busy() {
  await client.ick(`${name}-lease-${number}`).lease(60_000)
  client.ick(`${name}-empty`).batches(1, { waitMs: Infinity }).next()
  const ick = client.ick(name)
  const work = async (one) => {
    for (let index = 0; ; index += 1) {
      await ick.add([[index, `${number}-${one}-${index}`]])
      await ick.exchange(5, [`${number}-${one}-${index}`])
    }
  }
  const workers = Array.from({ length: 50 }, (_, one) => work(one))
  setTimeout(() => parentPort.postMessage('busy'), 10)
  await Promise.all(workers)
}

/** Waits for work that never comes, before everything else. */
async function wait() {
  const ick = client.ick(name)
  const asked = ick.batches(1, { waitMs: Infinity }).next()
  await ick.stats()
  parentPort.postMessage('waiting')
  await asked
}

if (task === 'produce') await produce()
if (task === 'wait') await wait()
if (task === 'exit') setTimeout(() => process.exit(7), 20)
if (task === 'busy' || task === 'exit') await busy()
