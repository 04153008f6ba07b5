// The worker of the deploy storm in Node; mod.rs says what it does.

import { setTimeout as sleep } from 'node:timers/promises'

import { connect, Reject } from '../../../node/index.mjs'

const say = (line) => process.stdout.write(`${process.hrtime.bigint()} ${line}\n`)

async function workFor(name, ms, then, isFirst) {
  say(`begin ${name}`)
  await sleep(ms)
  if (then === 'retry' && isFirst) {
    say(`run ${name} retry`)
    throw new Error('it fails the first time')
  }
  if (then === 'reject') {
    say(`run ${name} reject`)
    throw new Reject('it is told so')
  }
  say(`run ${name} done`)
}

const follows = ({ n, ms }) => ({ n: n + 1_000_000, ms, then: 'done' })

async function doTask(job) {
  const said = job.task.value
  await workFor(`task-${said.n}`, said.ms, said.then, job.task.attempt === 0)
  const inserts = [{ queue: 'out', id: `out-${said.n}` }]
  if (said.then === 'follow') {
    const value = follows(said)
    inserts.push({ queue: 'jobs', id: `j${value.n}`, value })
  }
  return { ...job.delete(), inserts }
}

async function doMessage({ message }) {
  const [n, ms, then] = ['n', 'ms', 'then'].map((name) => message.field(name))
  await workFor(`message-${n}`, Number(ms), then, message.deliveries === 1)
}

async function doEvent(queue, event) {
  const said = JSON.parse(event.payload)
  await workFor(`event-${said.n}`, said.ms, said.then, event.attempts === 1)
  if (said.then === 'follow') {
    await queue.ackWith(event, [{ payload: JSON.stringify(follows(said)), key: event.key }])
  }
}

function tell({ kind, message }) {
  if (kind !== 'done' && kind !== 'released') say(`told ${kind} ${JSON.stringify(message)}`)
}

const [role, url, life] = process.argv.slice(2)
const options = { leaseMs: 10_000, concurrency: 4, prefetch: 4 }
const backoff = { backoffMs: 100, backoffMaxMs: 200 }
const client = await connect(url)
const consumer = client.shuffleQueue('storm-messages').consumer('workers', life)
const events = client.events('storm-events')
const [handler, worker] = {
  tasks: () => [doTask, client.tasks('storm').worker('jobs', { ...options, ...backoff })],
  messages: () => [doMessage, consumer.worker({ delete: true, ...options, ...backoff })],
  events: () => [({ event }) => doEvent(events, event), events.worker(options)]
}[role]()
process.once('SIGTERM', () => worker.stop(20_000))
process.stdout.write('ready\n')
await worker.run(handler, { onError: () => {}, onEvent: tell })
await client.close()
