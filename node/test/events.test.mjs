// Queues of events, on every backend: what fires at its time, in order by its key.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'

import * as millpond from 'millpond'
import { connect, InvalidArgumentError, LeaseLostError, Reject, Release, Retry } from 'millpond'
import { Redis } from 'ioredis'

import { sharedServer } from './servers.mjs'
import { allRefused, NEVER_POLLING, newName, onEveryBackend, refused } from './support.mjs'

const BYTES = 'has to be a string or a Uint8Array'
const ID = '0'.repeat(20)

onEveryBackend('an event is received once, and ends', async ({ connect, name }) => {
  const queue = (await connect()).events(name)
  const bytes = Buffer.from([0xff, 0])
  const published = await queue.publish(bytes, { key: 'c', headers: { a: '1' } })
  assert.equal(published.status, 'created')
  const [event] = await queue.receive(10)
  assert.deepEqual([event.payload, event.key, event.attempts], [bytes, Buffer.from('c'), 1])
  assert.deepEqual(event.headers.map(([key, value]) => [key, `${value}`]), [['a', '1']])
  assert.deepEqual(await queue.receive(10), [])
  assert.deepEqual(await queue.renew(event, { leaseMs: 60_000 }), ['held'])
  await queue.nack(event, 'no printer', { afterMs: 0 })
  await assert.rejects(queue.ack(event), LeaseLostError)
  const [again] = await queue.receive()
  assert.deepEqual([again.err, again.attempts], ['no printer', 2])
  assert.deepEqual(await queue.ackMany([event]), ['lost'])
  await queue.ackWith(again, ['ship', { payload: 'bill', delayMs: 3_600_000 }])
  assert.deepEqual((await queue.receive(10)).map(({ payload }) => `${payload}`), ['ship'])
  assert.deepEqual(await queue.fetch(published), [null])
})

onEveryBackend('schedules', async ({ connect, name }) => {
  const queue = (await connect()).events(name)
  const schedule = { id: 's', everyMs: 3_600_000, payload: Buffer.from([0xff]), headers: { a: '1' }, missed: 'expire' }
  assert.equal(await queue.putSchedule(schedule), 'created')
  const [info] = await queue.listSchedules()
  assert.deepEqual([info.everyMs, info.cron, info.payload, info.paused], [3_600_000, null, schedule.payload, false])
  const { id } = await queue.triggerSchedule('s')
  const [event] = await queue.receive(10)
  assert.deepEqual([event.id, `${event.key}`, `${event.headers[0][1]}`], [id, 's', '1'])
  assert.equal((await queue.syncSchedules('app', 1, [schedule])).unchanged, 1)
  assert.equal((await queue.syncSchedules('app', 2, new Set())).removed, 1)
  assert.equal(await queue.getSchedule('s'), null)
})

onEveryBackend('names and times', async ({ connect, name }) => {
  const queue = (await connect()).events(name)
  const atMs = 4_000_000_000_123
  const first = await queue.publish('x', { atMs, dedupId: 'cart' })
  const again = await queue.publish('x', { dedupId: 'cart' })
  assert.deepEqual([again.status, again.id], ['duplicate', first.id])
  const error = await queue.publish('x', { dedupId: 'cart', ifExists: 'error' }).catch((reason) => reason)
  assert.equal(error.constructor, millpond.AlreadyExistsError)
  assert.equal(Number((await queue.fetch(first.id))[0].fireAtUs), atMs * 1_000)
  assert.deepEqual(await queue.rescheduleAtMs([first.id, ID], atMs + 1), ['rescheduled', 'gone'])
  const replaced = await queue.publish('y', { delayMs: 1_500, dedupId: 'cart', ifExists: 'replace' })
  assert.equal(replaced.status, 'replaced')
  assert.deepEqual([await queue.cancel(replaced), await queue.cancel([replaced])], [['removed'], ['removed']])
  const expired = await queue.publish('z', { ttlMs: 1 })
  await setTimeout(10)
  assert.deepEqual([await queue.receive(), await queue.fetch(expired)], [[], [null]])
})

onEveryBackend('a loop waits for the time of an event', async ({ connect, name }) => {
  const queue = (await connect()).events(name)
  await queue.publish('later', { delayMs: 100 })
  const { value } = await queue.deliveries({ waitMs: 60_000 }).next()
  assert.equal(`${value[0].payload}`, 'later')
}, NEVER_POLLING)

onEveryBackend('what becomes of an event', async ({ connect, name }) => {
  const queue = (await connect()).events(name)
  await queue.configure({ maxAttempts: 2, backoffMinMs: 1, backoffMaxMs: 1 })
  const outcomes = {
    nothing: () => undefined,
    value: async () => ({ status: 'sent', rows: 7 }),
    modification: async () => ({ inserts: [{ queue: 'q' }] }),
    reject() { throw new Reject('no address') },
    retry() { throw new Retry('again', { delayMs: 0 }) },
    release() { throw new Release() },
    error() { throw new RangeError('of the application') }
  }
  await queue.publishMany(Object.keys(outcomes))
  const failed = new Set()
  const seen = []
  const reports = {}
  const handler = (job) => {
    const n = job.event.payload.toString()
    seen.push(n)
    return n !== 'modification' && seen.filter((one) => one === n).length > 1 ? undefined : outcomes[n](job)
  }
  const onEvent = ({ kind, job }) => (reports[kind] ??= []).push(`${job.event.payload}`)
  const worker = queue.worker()
  while ((reports.done?.length ?? 0) < 5 || (reports.dead?.length ?? 0) < 2) {
    await worker.drain(handler, { onError: (job) => failed.add(`${job.event.payload}`), onEvent })
  }
  assert.deepEqual(reports.done.sort(), ['error', 'nothing', 'release', 'retry', 'value'])
  assert.deepEqual(reports.dead.sort(), ['modification', 'reject'])
  assert.deepEqual([...failed].sort(), ['error', 'modification', 'reject'])
  const { events } = await queue.list('dead')
  assert.deepEqual(events.map(({ reason }) => reason).sort(), ['exhausted', 'rejected'])
  assert.equal(await queue.redriveAll({ reason: 'rejected' }), 1)
  assert.equal(await queue.purge('dead'), 1)
  const { ready, dead } = await queue.stats()
  assert.deepEqual([ready, dead], [1, 0])
})

onEveryBackend('a handler ends its event with what follows from it', async ({ connect, name }) => {
  const queue = (await connect()).events(name)
  await queue.publish('first')
  const seen = []
  const drained = await queue.worker().drain(async ({ event }) => {
    if (seen.push(`${event.payload}`) === 1) await queue.ackWith(event, ['second'])
  }, { onError: assert.fail })
  assert.deepEqual([seen, drained], [['first', 'second'], { done: 2, retried: 0, dead: 0, others: 0 }])
})

onEveryBackend('jobs run at once, but those of a key', async ({ connect, name }) => {
  const queue = (await connect()).events(name)
  await queue.publishMany(Array.from({ length: 8 }, (_, n) => ({ payload: `${n}`, key: n < 4 ? 'one' : `${n}` })))
  const worker = queue.worker({ concurrency: 5, prefetch: 2 })
  const order = []
  let begun = 0
  await worker.run(async ({ event }) => {
    const number = Number(event.payload)
    if (number < 4) order.push(number)
    begun += 1
    while (begun < 5) await setTimeout(1)
    if (begun === 8) worker.stop()
  }, { onError: assert.fail })
  assert.deepEqual(order, [0, 1, 2, 3])
  assert.equal((await queue.stats()).events, 0)
})

const CALLS = [
  [(queue) => queue.publish(), `payload ${BYTES}`, TypeError],
  [(queue) => queue.publish('x', { key: 7 }), `key ${BYTES}`, TypeError],
  [(queue) => queue.publish('x', { delay: 1 }), 'the option delay is not known; there is '],
  [(queue) => queue.publish('x', { delayMs: '1' }), 'delayMs has to be a number of milliseconds', TypeError],
  [(queue) => queue.publish('x', { delayMs: -1 }), 'delayMs is -1'],
  [(queue) => queue.publish('x', { delayMs: 1, atMs: 1 }), 'delay'],
  [(queue) => queue.publish('x', { ifExists: 'never' }), 'ifExists'],
  [(queue) => queue.publish('x', { dedupId: 7 }), 'dedupId has to be a string', TypeError],
  [(queue) => queue.publish('x', { headers: 7 }), 'headers', TypeError],
  [(queue) => queue.publishMany('x'), 'events has to be an iterable', TypeError],
  [(queue) => queue.publishMany(['x', 7]), 'events[1] has to be', TypeError],
  [(queue) => queue.publishMany([{ payload: 'x' }, { payload: 7 }]), `events[1].payload ${BYTES}`, TypeError],
  [(queue) => queue.publishMany([{ payload: 'x', delay: 1 }]), 'delay is not known'],
  [(queue) => queue.receive(0), 'takes 1 to 1000 events, not 0'],
  [(queue) => queue.receive('1'), 'max has to be a whole number', TypeError],
  [(queue) => queue.ack('x'), 'delivery has to be', TypeError],
  [(queue) => queue.ack({ id: ID, token: 'short' }), 'token'],
  [(queue) => queue.ackMany(7), 'deliveries has to be an iterable', TypeError],
  [(queue) => queue.cancel('no id'), '"no id" is no id of an event'],
  [(queue) => queue.cancel([7]), 'ids[0] has to be a string', TypeError],
  [(queue) => queue.reschedule(ID), 'delayMs has to be a number of milliseconds', TypeError],
  [(queue) => queue.list('waiting'), 'state'],
  [(queue) => queue.list('dead', { limit: 0 }), '1 to 1000 events, not 0'],
  [(queue) => queue.redriveAll({ reason: 'x' }), 'reason'],
  [(queue) => queue.configure({ partitions: 0 }), 'partitions'],
  [(queue) => queue.putSchedule('s'), 'schedule has to be an object', TypeError],
  [(queue) => queue.putSchedule({ everyMs: 1_000 }), 'schedule.id has to be a string', TypeError],
  [(queue) => queue.putSchedule({ id: 's', cron: 7 }), 'schedule.cron has to be a string', TypeError],
  [(queue) => queue.putSchedule({ id: 's', every: 1 }), 'every is not known'],
  [(queue) => queue.putSchedule({ id: 's' }), 'has to have either cron or every'],
  [(queue) => queue.syncSchedules('app', 1, [{ id: 's', missed: 'x' }]), 'schedules[0].missed'],
  [(queue) => queue.configure({ shards: 1 }), 'the option shards is not known']
]

onEveryBackend('wrong arguments', async ({ connect, name }) => {
  const queue = (await connect()).events(name)
  await allRefused(CALLS, queue)
  assert.equal((await queue.stats()).events, 0)
  assert.deepEqual([await queue.ackMany([]), await queue.cancel(new Set())], [[], []])
})

test('an event of a transaction', async (t) => {
  const { url } = await sharedServer()
  const name = newName()
  const [redis, client] = [new Redis(url), await connect(url)]
  t.after(() => redis.disconnect())
  const queue = client.events(name)
  const command = await queue.publishCall(Buffer.from([0xff, 0]), { key: 'k', headers: { a: '1' } })
  await redis.script('FLUSH')
  const [, [, id]] = await redis.multi().set(`${name}:order`, 'paid').call(...command).exec()
  const [event] = await queue.receive()
  assert.deepEqual([event.id, [...event.payload], event.key.toString()], [id, [0xff, 0], 'k'])
  assert.equal(await redis.get(`${name}:order`), 'paid')
  const refused = queue.publishCall('paid', { dedupId: 'a', ifExists: 'error' })
  await assert.rejects(refused, InvalidArgumentError)
  await assert.rejects((await connect('memory:')).events(name).publishCall('paid'), InvalidArgumentError)
  await assert.rejects(queue.publishCall(7), TypeError)
  await client.close()
})

test('handles', async () => {
  const client = await connect('memory:')
  const queue = client.events('x')
  for (const [call, message, Kind] of [
    [() => queue.deliveries({ max: 1.5 }), 'max has to be a whole number'],
    [() => queue.deliveries({ wait: 1 }), 'the option wait is not known'],
    [() => queue.worker({ backoffMs: 1 }), 'the option backoffMs is not known'],
    [() => queue.worker({ leaseMs: '1' }), 'leaseMs has to be a number of milliseconds', TypeError]
  ]) {
    assert.throws(call, refused(message, Kind))
  }
  await client.close()
})
