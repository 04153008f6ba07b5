// Reads that wait, loops, and what an abort does to them.

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { connect } from 'millpond'

import { startServers } from './servers.mjs'
import { collect, NEVER_POLLING, numbersOf, onEveryBackend, until } from './support.mjs'

/** Writes messages with these numbers. */
async function write(queue, ...numbers) {
  await queue.writeMany(numbers.map((number) => ['tenant', { n: `${number}` }]))
}

onEveryBackend('a read waits for what comes', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name)
  const consumer = queue.consumer('g', 'c')
  const one = consumer.read({ waitMs: Infinity })
  await queue.len()
  await write(queue, 1)
  assert.deepEqual(numbersOf([await one]), ['1'])
  const several = consumer.readMany(10, { waitMs: 20_000 })
  await queue.len()
  await write(queue, 2, 3)
  const seen = numbersOf(await several)
  // The first of them may have been all there was.
  while (seen.length < 2) seen.push((await consumer.read({ waitMs: 20_000 })).field('n'))
  assert.deepEqual(seen.sort(), ['2', '3'])
})

onEveryBackend('a read waits no longer than waitMs', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name)
  const consumer = queue.consumer('g', 'c')
  const began = performance.now()
  assert.equal(await consumer.read({ waitMs: 100 }), null)
  assert.deepEqual(await consumer.readMany(10, { waitMs: 100 }), [])
  assert.ok(performance.now() - began > 190)
  assert.equal(await consumer.read({ waitMs: 0 }), null)
  await write(queue, 1)
  assert.equal((await consumer.read({ waitMs: 0 })).field('n'), '1')
})

onEveryBackend('a loop ends when there is nothing left', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name, { streams: 1 })
  await write(queue, 1, 2, 3, 4, 5)
  const consumer = queue.consumer('g', 'c')
  const batches = await collect(consumer.messages({ max: 2 }))
  assert.deepEqual(batches.map(numbersOf), [['1', '2'], ['3', '4'], ['5']])
  // Nothing is done until it is acknowledged.
  assert.equal(await queue.pendingCount('g'), 5)
  const over = consumer.messages()
  assert.deepEqual(await over.next(), { done: true, value: undefined })
  await write(queue, 6)
  assert.deepEqual(await over.next(), { done: true, value: undefined })
  assert.deepEqual(numbersOf((await collect(consumer.messages())).flat()), ['6'])
})

onEveryBackend('a loop that is left keeps nothing from others', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name, { streams: 1 })
  await write(queue, 1, 2)
  const consumer = queue.consumer('g', 'c')
  await assert.rejects(async () => {
    for await (const _ of consumer.messages({ max: 1 })) throw new RangeError('in the handler')
  }, RangeError)
  for await (const batch of consumer.messages({ max: 1 })) {
    assert.deepEqual(numbersOf(batch), ['2'])
    break
  }
  const { messages } = await queue.consumer('g', 'other').reclaim(0, 10)
  assert.deepEqual(numbersOf(messages), ['1', '2'])
})

onEveryBackend('a loop waits, and ends', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name)
  const seen = []
  const produce = async () => {
    for (const number of [1, 2, 3]) {
      await sleep(50)
      await write(queue, number)
      await until(() => seen.length === number, 'it is read')
    }
  }
  const consume = async () => {
    for await (const batch of queue.consumer('g', 'c').messages({ waitMs: Infinity })) {
      seen.push(...numbersOf(batch))
      if (seen.length === 3) return
    }
  }
  await Promise.all([consume(), produce()])
  assert.deepEqual(seen, ['1', '2', '3'])
  const began = performance.now()
  assert.deepEqual(await collect(queue.consumer('g', 'c').messages({ waitMs: 150 })), [])
  assert.ok(performance.now() - began > 145)
})

onEveryBackend('many that wait share what comes', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name)
  const stop = new AbortController()
  const seen = []
  const consume = async (number) => {
    const consumer = queue.consumer('g', `c${number}`)
    const messages = consumer.messages({ max: 3, waitMs: Infinity, signal: stop.signal })
    for await (const batch of messages) {
      seen.push(...numbersOf(batch))
      await consumer.ackAndDelete(batch)
    }
  }
  const consumers = Array.from({ length: 10 }, (_, number) => consume(number))
  const ended = Promise.allSettled(consumers)
  const numbers = Array.from({ length: 200 }, (_, number) => `${number}`)
  await Promise.all(numbers.map((number) => write(queue, number)))
  await until(async () => (await queue.len()) === 0, 'all are done')
  stop.abort()
  for (const { reason } of await ended) assert.equal(reason.name, 'AbortError')
  assert.deepEqual(seen.sort((a, b) => a - b), numbers)
  assert.deepEqual(getEventListeners(stop.signal, 'abort'), [])
})

onEveryBackend('one request at a time', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name)
  const messages = queue.consumer('g', 'c').messages({ waitMs: Infinity })
  const asked = messages.next()
  await assert.rejects(messages.next(), { code: 'INVALID_ARGUMENT', message: /requested already/ })
  await write(queue, 1)
  assert.deepEqual(numbersOf((await asked).value), ['1'])
})

onEveryBackend('what was aborted before is not sent', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name)
  const reason = new RangeError('no more time')
  const signal = AbortSignal.abort(reason)
  const consumer = queue.consumer('g', 'c')
  const receipt = { stream: 0, id: '1-1' }
  const calls = [
    queue.write('tenant', { n: '1' }, { signal }),
    queue.writeMany([['tenant', { n: '1' }]], { signal }),
    queue.len({ signal }),
    queue.backlog({ signal }),
    queue.pendingCount('g', { signal }),
    queue.stats('g', { signal }),
    queue.deadLetters(1, { signal }),
    consumer.read({ signal }),
    consumer.read({ waitMs: Infinity, signal }),
    consumer.readMany(1, { signal }),
    consumer.messages({ signal }).next(),
    consumer.ack(receipt, { signal }),
    consumer.ackAndDelete(receipt, { signal }),
    consumer.extend(receipt, { signal }),
    consumer.reclaim(0, 1, { signal })
  ]
  for (const call of calls) await assert.rejects(call, (error) => error === reason)
  assert.equal(await queue.len(), 0)
})

onEveryBackend('a wait that is aborted', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name)
  const consumer = queue.consumer('g', 'c')
  const timeout = { name: 'TimeoutError' }
  const waits = [
    consumer.read({ waitMs: Infinity, signal: AbortSignal.timeout(30) }),
    consumer.readMany(10, { waitMs: Infinity, signal: AbortSignal.timeout(30) }),
    consumer.messages({ waitMs: Infinity, signal: AbortSignal.timeout(30) }).next()
  ]
  for (const wait of waits) await assert.rejects(wait, timeout)
  // None of them takes what comes afterwards.
  await write(queue, 1)
  assert.deepEqual(numbersOf([await consumer.read()]), ['1'])
})

onEveryBackend('those that wait no more take no message from others', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name)
  const consumer = queue.consumer('g', 'c')
  const controller = new AbortController()
  const { signal } = controller
  const idle = []
  const refused = []
  for (let number = 0; number < 5; number += 1) {
    const messages = consumer.messages({ waitMs: Infinity, signal })
    refused.push(messages.next(), consumer.read({ waitMs: Infinity, signal }))
    idle.push(messages)
  }
  const left = consumer.messages({ waitMs: Infinity })
  const leaving = left.next()
  const settled = Promise.allSettled(refused)
  await queue.len()
  await sleep(50) // they wait
  const asked = consumer.read({ waitMs: 60_000 })
  await queue.len()
  controller.abort()
  await left.return()
  for (const { reason } of await settled) assert.equal(reason.name, 'AbortError')
  assert.deepEqual(await leaving, { done: true, value: undefined })
  await write(queue, 1)
  const message = await asked
  assert.notEqual(message, null, 'somebody has told it')
  assert.deepEqual(numbersOf([message]), ['1'])
  assert.equal(idle.length, 5)
}, NEVER_POLLING)

onEveryBackend('a loop that was aborted goes on', async ({ connect, name }) => {
  const queue = (await connect()).shuffleQueue(name, { streams: 1 })
  await write(queue, 1, 2)
  const target = new EventTarget()
  // Of another library: it aborts what is under way and can be used again.
  const signal = {
    aborted: false,
    addEventListener: (...given) => target.addEventListener(...given),
    removeEventListener: (...given) => target.removeEventListener(...given)
  }
  const messages = queue.consumer('g', 'c').messages({ max: 1, signal })
  const asked = messages.next()
  target.dispatchEvent(new Event('abort'))
  await assert.rejects(asked, { name: 'AbortError' })
  // What was on its way is there for the next request.
  assert.deepEqual(numbersOf((await messages.next()).value), ['1'])
  assert.deepEqual(numbersOf((await messages.next()).value), ['2'])
  assert.equal((await messages.next()).done, true)
})

test('a read that is aborted on its way leaves its message pending', async () => {
  const server = await startServers()
  const client = await connect(server.url, { timeoutMs: 60_000 })
  const queue = client.shuffleQueue('jobs')
  await write(queue, 1)
  await server.run('stop')
  const controller = new AbortController()
  const reading = queue.consumer('g', 'c').read({ signal: controller.signal })
  controller.abort()
  await assert.rejects(reading, { name: 'AbortError' })
  await server.run('cont')
  await until(async () => (await queue.pendingCount('g')) === 1, 'it is taken')
  const { messages } = await queue.consumer('g', 'other').reclaim(0, 10)
  assert.deepEqual(numbersOf(messages), ['1'])
  await client.close()
  await server.stop()
})

test('a loop continues after an error that a retry can fix', async () => {
  const server = await startServers()
  const client = await connect(server.url, { timeoutMs: 1500 })
  const queue = client.shuffleQueue('jobs')
  await write(queue, 1)
  const messages = queue.consumer('g', 'c').messages({ waitMs: Infinity })
  assert.deepEqual(numbersOf((await messages.next()).value), ['1'])
  await server.run('stop')
  await assert.rejects(messages.next(), { code: 'TIMEOUT', retry: 'unknown' })
  await server.run('cont')
  const asked = messages.next()
  await until(() => write(queue, 2).then(() => true, () => false), 'it replies again')
  assert.equal(numbersOf((await asked).value)[0], '2')
  await client.close()
  await server.stop()
})
