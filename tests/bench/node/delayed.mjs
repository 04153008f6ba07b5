// BullMQ's delayed jobs, beside which events are measured.
//
// delayed.mjs URL add COUNT
//   adds jobs that are due in a day, with a payload of 100 bytes, by 1,000 a call
// delayed.mjs URL late COUNT EVERY_US WORKERS DELAY_MS BEGIN_MS
//   has workers wait for jobs, and prints of each when it was due, in milliseconds since the first was, and how late
//   it was begun, as JSON. The jobs are due EVERY_US from each other, the first in BEGIN_MS; or, for 0, each is added
//   when the one before was begun, and is due in DELAY_MS.
//
// The server's data are deleted before.

import { setTimeout } from 'node:timers/promises'

import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'

const BATCH = 1000
const DAY_MS = 24 * 60 * 60 * 1000

const [url, what, ...numbers] = process.argv.slice(2)
const [count, everyUs, workers, delayMs, beginMs] = numbers.map(Number)
// What BullMQ's manual asks for; each worker makes one more connection of it, for waiting.
const connection = new Redis(url, { maxRetriesPerRequest: null })

/** The time, with a fraction of a millisecond. */
const now = () => performance.timeOrigin + performance.now()

async function add(queue) {
  const data = { payload: 'x'.repeat(100) }
  for (let from = 0; from < count; from += BATCH) {
    const job = { name: 'work', data, opts: { delay: DAY_MS } }
    await queue.addBulk(Array.from({ length: Math.min(BATCH, count - from) }, () => job))
  }
}

async function late(queue) {
  const begun = []
  const work = async (job) => {
    begun.push([job.timestamp + job.opts.delay, now()])
  }
  const settings = { connection, concurrency: 1, removeOnComplete: { count: 0 } }
  const all = Array.from({ length: workers }, () => new Worker('q', work, settings))
  await Promise.all(all.map((worker) => worker.waitUntilReady()))
  await setTimeout(500)
  const until = async (length) => {
    while (begun.length < length) await setTimeout(1)
  }
  if (everyUs === 0) {
    for (let number = 1; number <= count; number += 1) {
      await queue.add('work', {}, { delay: delayMs })
      await until(number)
    }
  } else {
    const begin = Date.now() + beginMs
    for (let from = 0; from < count; from += BATCH) {
      const numbers = Array.from({ length: Math.min(BATCH, count - from) }, (_, n) => from + n)
      const jobs = numbers.map((number) => {
        const timestamp = Date.now()
        const delay = Math.floor(begin + (number * everyUs) / 1000) - timestamp
        return { name: 'work', data: {}, opts: { timestamp, delay } }
      })
      await queue.addBulk(jobs)
    }
    await until(count)
  }
  const first = Math.min(...begun.map(([due]) => due))
  console.log(JSON.stringify(begun.map(([due, at]) => [due - first, at - due])))
  await Promise.all(all.map((worker) => worker.close()))
}

await connection.flushall()
const queue = new Queue('q', { connection })
await queue.waitUntilReady()
await (what === 'add' ? add(queue) : late(queue))
await queue.close()
connection.disconnect()
