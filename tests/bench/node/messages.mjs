// Messages per second through a shuffle queue and through BullMQ in turn; prints a list of rows
// as JSON.
//
// Arguments: the server's URL. All that it holds is deleted.

import { performance } from 'node:perf_hooks'

import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'

import millpond from '../../../node/index.js'
import { compare } from './measure.mjs'

const ROUNDS = 7
const TENANTS = 40
const BATCH = 100

const [url] = process.argv.slice(2)
const client = await millpond.connect(url)
// What BullMQ's manual asks for; each worker makes one more connection of it, for waiting.
const connection = new Redis(url, { maxRetriesPerRequest: null })

/** Tenants in the order in which all programs have them. */
const tenant = (number) => String((number * 7) % TENANTS)

/** A message of 2 fields with 56 bytes in all. */
const fields = (number) => ({
  task: `resize-${String(number).padStart(8, '0')}`,
  image: 'https://example.org/images/1.png'
})

/** The numbers of a batch of messages. */
const batch = (from) => Array.from({ length: BATCH }, (_, index) => from + index)

/** A queue with nothing in it, and how to fill it; the same of both. */
async function emptyShuffle() {
  await connection.flushall()
  const queue = client.shuffleQueue('q', { streams: 64, streamsPerShard: 4 })
  await queue.len()
  return {
    queue,
    one: (number) => queue.write(tenant(number), fields(number)),
    many: (numbers) => queue.writeMany(numbers.map((number) => [tenant(number), fields(number)]))
  }
}

async function emptyBull() {
  await connection.flushall()
  const queue = new Queue('q', { connection })
  await queue.waitUntilReady()
  return {
    queue,
    one: (number) => queue.add('resize', fields(number)),
    many: (numbers) =>
      queue.addBulk(numbers.map((number) => ({ name: 'resize', data: fields(number) })))
  }
}

/** Measures adding `count` messages, `size` with each call. */
const adding = (empty, all, size) => async () => {
  const { queue, one, many } = await empty()
  const began = performance.now()
  for (let from = 0; from < all; from += size) {
    await (size === 1 ? one(from) : many(batch(from)))
  }
  const rate = perSecond(all, began)
  await queue.close?.() // BullMQ's
  return rate
}

/** Measures what `work` does with the given number of messages; it returns how many it did. */
const shuffleWorking = (all, work) => async () => {
  const { queue, many } = await emptyShuffle()
  for (let from = 0; from < all; from += BATCH) await many(batch(from))
  const consumer = queue.consumer('workers', 'worker-1')
  const began = performance.now()
  const done = await work(consumer, all)
  const rate = perSecond(all, began)
  if (done !== all || (await queue.len()) !== 0) throw new Error(`${done} of ${all} done`)
  return rate
}

/** The work itself, which is none. */
async function nothing() {}

/** Each message read, worked on and acknowledged alone, many at once. */
const oneByOne = (concurrent) => async (consumer) => {
  let done = 0
  async function loop() {
    for (let message; (message = await consumer.read()); ) {
      await nothing(message)
      const acknowledged = await consumer.ackAndDelete(message)
      done += acknowledged // not in one expression: the others count meanwhile
    }
  }
  await Promise.all(Array.from({ length: concurrent }, loop))
  return done
}

/** Messages read in batches, and each acknowledged alone. */
async function takenInBatches(consumer, all) {
  let done = 0
  for await (const messages of consumer.messages({ max: BATCH, waitMs: 1000 })) {
    for (const message of messages) {
      await nothing(message)
      done += await consumer.ackAndDelete(message)
    }
    if (done >= all) break
  }
  return done
}

/** Messages read and acknowledged in batches. */
async function inBatches(consumer, all) {
  let done = 0
  for await (const messages of consumer.messages({ max: BATCH, waitMs: 1000 })) {
    await Promise.all(messages.map(nothing))
    done += await consumer.ackAndDelete(messages)
    if (done >= all) break
  }
  return done
}

/** Measures a worker on the given number of jobs, until the last is completed. */
const bullWorking = (all, concurrency) => async () => {
  const { queue, many } = await emptyBull()
  for (let from = 0; from < all; from += BATCH) await many(batch(from))
  const settings = { connection, concurrency, autorun: false, removeOnComplete: { count: 0 } }
  const worker = new Worker('q', nothing, settings)
  let done = 0
  const finished = new Promise((resolve, reject) => {
    worker.on('completed', () => (done += 1) === all && resolve())
    worker.on('failed', (job, error) => reject(error))
    worker.on('error', reject)
  })
  await worker.waitUntilReady()
  const began = performance.now()
  worker.run()
  await finished
  const rate = perSecond(all, began)
  await worker.close()
  const left = Object.values(await queue.getJobCounts()).reduce((sum, count) => sum + count, 0)
  if (left !== 0) throw new Error(`${left} jobs are left`)
  await queue.close()
  return rate
}

function perSecond(all, began) {
  return (all * 1000) / (performance.now() - began)
}

const rows = []
const row = async (name, concurrent, ours, theirs) =>
  rows.push(await compare(ROUNDS, { name, concurrent, peer: 'BullMQ', aim: 1 }, ours, theirs))

await row('add', 1, adding(emptyShuffle, 2000, 1), adding(emptyBull, 2000, 1))
await row('add 100', 1, adding(emptyShuffle, 10_000, BATCH), adding(emptyBull, 10_000, BATCH))
for (const [concurrent, all] of [[1, 2000], [16, 5000]]) {
  const name = 'process, each taken alone'
  const ours = shuffleWorking(all, oneByOne(concurrent))
  await row(name, concurrent, ours, bullWorking(all, concurrent))
}
await row(
  'process, taken by 100, each acknowledged alone',
  1,
  shuffleWorking(2000, takenInBatches),
  bullWorking(2000, 1)
)
await row(
  'process, taken and acknowledged by 100',
  100,
  shuffleWorking(10_000, inBatches),
  bullWorking(10_000, 100)
)
console.log(JSON.stringify(rows))
await client.close()
connection.disconnect()
