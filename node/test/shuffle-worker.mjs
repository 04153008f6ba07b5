// What the workers of shuffle-process.test.mjs do.

import { parentPort, workerData } from 'node:worker_threads'

import { connect } from 'millpond'

const { task, url, name, number } = workerData
const client = await connect(url)
const queue = client.shuffleQueue(name)
const consumer = queue.consumer('g', `c${number}`)

async function produce() {
  const numbers = Array.from({ length: 250 }, (_, index) => `${number}-${index}`)
  await Promise.all(numbers.map((n) => queue.write(`tenant-${number}`, { n })))
  await client.close()
}

/** Waits for messages that never come, before everything else. */
async function wait() {
  const asked = [consumer.read({ waitMs: Infinity }), consumer.messages({ waitMs: Infinity }).next()]
  await queue.len()
  parentPort.postMessage('waiting')
  await Promise.all(asked)
}

/** Hands on what it reads. */
async function handOn() {
  for await (const batch of consumer.messages({ waitMs: 20_000 })) {
    for (const message of batch) parentPort.postMessage(message)
  }
}

if (task === 'produce') await produce()
if (task === 'wait') await wait()
if (task === 'hand on') await handOn()
