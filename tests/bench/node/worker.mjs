// Jobs per second through a worker, ours and those of the peers that `measured` names in turn,
// round by round; prints a list of rows as JSON.
//
// A round enqueues its jobs, starts a worker on them, and counts from the start of the first job
// until the last has ended in the store, which then holds none of them.
//
// Arguments: the server's URL. All that it holds is deleted.

import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'

import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'

import millpond from '../../../node/index.js'
import { inTurn, withFigures } from './measure.mjs'

const ROUNDS = 3
const CONCURRENT = 100
const BATCH = 1000
const WAIT_MS = 5

const [url] = process.argv.slice(2)
const client = await millpond.connect(url)
// What BullMQ's manual asks for; each worker makes one more connection of it, for waiting.
const connection = new Redis(url, { maxRetriesPerRequest: null })

/** Our queues. */
const ours = { tasks, 'shuffle queue': shuffle, events }

/** What is done, by how many jobs, and what ours are measured against, with what is aimed for. */
const measured = {
  'no-op': {
    total: 60_000,
    handler: async () => {},
    peers: { BullMQ: bull },
    aims: { BullMQ: 3, 'BullMQ of events': 4 }
  },
  'wait 5 ms': {
    total: 30_000,
    handler: () => setTimeout(WAIT_MS),
    peers: { BullMQ: bull, 'the waits alone': () => (CONCURRENT * 1000) / WAIT_MS },
    aims: { 'the waits alone': 0.9 }
  }
}

/** A task store, how to fill it, and how many jobs are left in it. */
function tasks() {
  const store = client.tasks('bench')
  return {
    add: (numbers) =>
      store.modify({ inserts: numbers.map((number) => ({ queue: 'q', value: { number } })) }),
    worker: (settings) => store.worker('q', settings),
    left: async () => (await store.queues()).get('q') ?? 0
  }
}

/** The same of a shuffle queue with 40 tenants. */
function shuffle() {
  const queue = client.shuffleQueue('q', { streams: 64, streamsPerShard: 4 })
  const consumer = queue.consumer('workers', 'worker-1')
  return {
    add: (numbers) =>
      queue.writeMany(numbers.map((n) => [String((n * 7) % 40), { number: String(n) }])),
    worker: (settings) => consumer.worker({ ...settings, delete: true }),
    left: () => queue.len()
  }
}

/** The same of a queue of events. */
function events() {
  const queue = client.events('bench')
  return {
    add: (numbers) => queue.publishMany(numbers.map(String)),
    worker: (settings) => queue.worker(settings),
    left: async () => (await queue.stats()).events
  }
}

/** Works on `total` jobs of one of Millpond's queues once; returns how many that were per second. */
async function work(queue, total, handler) {
  await connection.flushall()
  const { add, worker: made, left } = queue()
  for (let from = 0; from < total; from += BATCH) await add(batch(from))
  const worker = made({ concurrency: CONCURRENT, prefetch: CONCURRENT })
  let began
  let begun = 0
  await worker.run((job) => {
    began ??= performance.now()
    begun += 1
    if (begun === total) worker.stop()
    return handler(job)
  })
  const rate = (total * 1000) / (performance.now() - began)
  if ((await left()) !== 0) throw new Error(`${await left()} jobs are left`)
  return rate
}

/**
 * The same of BullMQ. A job is deleted when it is
 * completed, and its event comes after that.
 */
async function bull(total, handler) {
  await connection.flushall()
  const queue = new Queue('q', { connection })
  for (let from = 0; from < total; from += BATCH) {
    await queue.addBulk(batch(from).map((number) => ({ name: 'work', data: { number } })))
  }
  let began
  let done = 0
  const work = (job) => {
    began ??= performance.now()
    return handler(job)
  }
  const settings = { connection, concurrency: CONCURRENT, removeOnComplete: { count: 0 } }
  const worker = new Worker('q', work, { ...settings, autorun: false })
  const finished = new Promise((resolve, reject) => {
    worker.on('completed', () => (done += 1) === total && resolve(performance.now()))
    worker.on('failed', (job, error) => reject(error))
    worker.on('error', reject)
  })
  await worker.waitUntilReady()
  worker.run()
  const rate = (total * 1000) / ((await finished) - began)
  await worker.close()
  const left = Object.values(await queue.getJobCounts()).reduce((sum, count) => sum + count, 0)
  if (left !== 0) throw new Error(`${left} jobs are left`)
  await queue.close()
  return rate
}

/** The numbers of a batch of jobs. */
function batch(from) {
  return Array.from({ length: BATCH }, (_, index) => from + index)
}

const rows = []
for (const [name, { total, handler, peers, aims }] of Object.entries(measured)) {
  const running = {}
  for (const [who, queue] of Object.entries(ours)) running[who] = () => work(queue, total, handler)
  for (const [who, peer] of Object.entries(peers)) running[who] = () => peer(total, handler)
  const figures = await inTurn(ROUNDS, running)
  for (const queue of Object.keys(ours)) {
    for (const peer of Object.keys(peers)) {
      const aim = aims[`${peer} of ${queue}`] ?? aims[peer]
      const row = { name: `${name}, ${queue}`, concurrent: CONCURRENT, peer, aim }
      rows.push(withFigures(row, figures[queue], figures[peer]))
    }
  }
}
console.log(JSON.stringify(rows))
await client.close()
connection.disconnect()
