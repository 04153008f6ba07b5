// Workers of every kind, on every backend: how many jobs run, what a stop does, and a server that is away.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'

import { connect, LeaseLostError, TaskStore } from 'millpond'

import { WORKERS } from './kit.mjs'
import { sharedServer, startServers } from './servers.mjs'
import { newName, onEveryRow, until } from './support.mjs'

const NOTHING = { done: 0, retried: 0, dead: 0, others: 0 }
const LEASE = { leaseMs: 60_000 }

/** Checks that this many jobs are there at once, and that none was tried before. */
async function areUntried({ queue, size, worker, attemptsOf }, count) {
  const drained = await worker(queue, LEASE).drain((job) => assert.equal(attemptsOf(job), 0))
  assert.deepEqual(drained, { ...NOTHING, done: count })
  assert.equal(await size(queue), 0)
}

onEveryRow('so many jobs at once', WORKERS, async ({ queue, put, size, worker }) => {
  await put(queue, ...Array.from({ length: 25 }, (_, number) => `${number}`))
  const running = worker(queue, { prefetch: 3 })
  let [now, most, count] = [0, 0, 0]
  await running.run(async () => {
    now += 1
    most = Math.max(most, now)
    // None ends before there are as many as there can be, and then one too many would be seen.
    await until(() => most >= 10, 'ten jobs run')
    await sleep(20)
    now -= 1
    if (++count === 25) running.stop()
  })
  assert.equal(most, 10)
  assert.equal(await size(queue), 0)
})

onEveryRow('a stop waits for what runs and gives back the rest', WORKERS, async (row) => {
  const { queue, put, worker, valueOf } = row
  await put(queue, '1', '2', '3', '4', '5')
  const stopped = worker(queue, { concurrency: 2, prefetch: 10, ...LEASE })
  const seen = []
  await stopped.run(async (job) => {
    if (seen.push(valueOf(job)) === 2) stopped.stop()
    await until(() => seen.length >= 2, 'two jobs run')
    await sleep(50)
  })
  assert.equal(seen.length, 2)
  // It stays stopped.
  await stopped.run(() => assert.fail('it was stopped'))
  assert.deepEqual(await stopped.drain(() => assert.fail('it was stopped')), NOTHING)
  await areUntried(row, 3)
})

onEveryRow('a stop has a deadline', WORKERS, async (row) => {
  const { queue, put, worker } = row
  await put(queue, 'a')
  const stopped = worker(queue, LEASE)
  let late
  await stopped.run((job) => {
    stopped.stop(60_000)
    stopped.stop(30)
    late = once(job.signal, 'abort').then(() => {
      assert.ok(job.isLost && job.signal.reason instanceof LeaseLostError)
    })
    return late
  }, { onError: assert.fail })
  // That it ends now means nothing.
  await late
  await areUntried(row, 1)
})

onEveryRow('an abort while a handler works', WORKERS, async (row) => {
  const { queue, put, size, worker } = row
  const run = async (handler) => {
    await put(queue, 'a')
    const controller = new AbortController()
    const running = worker(queue, LEASE).run(() => handler(controller), { signal: controller.signal })
    await assert.rejects(running, { name: 'AbortError' })
  }
  // One that is done is done, one that stops with the signal has released its job.
  await run((controller) => controller.abort())
  assert.equal(await size(queue), 0)
  await run(async (controller) => {
    controller.abort()
    await sleep(60_000, undefined, { signal: controller.signal })
  })
  await areUntried(row, 1)
  await run((controller) => {
    controller.abort()
    controller.signal.throwIfAborted()
  })
  await areUntried(row, 1)
})

onEveryRow('what cannot be read is a failure all the same', WORKERS, async ({ queue, put, worker, valueOf }) => {
  const throwing = (property) => Object.defineProperty(new Error('x'), property, { get: () => assert.fail(property) })
  const thrown = [
    throwing('message'),
    throwing('name'),
    Object.assign(new Error('x'), { message: Symbol('x') }),
    { [inspect.custom]: () => assert.fail('inspect') }
  ]
  const returned = Object.defineProperty({}, 'then', { get: () => assert.fail('then') })
  await put(queue, '0', '1', '2', '3', 'then')
  const failed = []
  const drained = await worker(queue, LEASE).drain((job) => {
    if (valueOf(job) === 'then') return returned
    throw thrown[valueOf(job)]
  }, { onError: (job) => failed.push(valueOf(job)) })
  // An event is tried again after a random delay, which may be so short that the same drain finds it.
  assert.deepEqual([drained.retried, [...new Set(failed)].sort()], [failed.length, ['0', '1', '2', '3', 'then']])
})

const RESULTS = new URL('../../tests/fixtures/handler-results/cases.json', import.meta.url)

onEveryRow('what a handler may return', WORKERS, async ({ queue, put, worker, valueOf }) => {
  const { cases } = JSON.parse(await readFile(RESULTS, 'utf8'))
  await put(queue, ...cases.map((_, index) => `${index}`))
  const failed = new Map()
  await worker(queue, LEASE).drain((job) => cases[valueOf(job)].value, {
    onError: (job, error) => failed.set(cases[valueOf(job)].name, error)
  })
  for (const { name, value, ends, key, node } of cases) {
    if (node === 'modification' && queue instanceof TaskStore) {
      assert.ok(!failed.has(name))
      assert.equal((await queue.queues()).get(value.inserts[0].queue), 1)
    } else if (node === 'modification') {
      assert.match(failed.get(name).message, /^the handler returned a modification, and an? (message|event) ends without/)
    } else {
      assert.equal(failed.has(name), ends === 'failed', name)
      if (key !== undefined) assert.match(failed.get(name).message, new RegExp(`\\b${key}\\b`))
    }
  }
})

onEveryRow('objects that are results whatever their names', WORKERS, async ({ queue, put, worker }) => {
  class Row {
    insert = []
    changes = {}
  }
  const results = [new Row(), [new Row()], new Map([['insert', []]]), Buffer.from('x'), () => ({ insert: [] })]
  await put(queue, ...results.map((_, index) => `${index}`))
  const drained = await worker(queue, LEASE).drain(() => results.pop(), { onError: assert.fail })
  assert.equal(drained.done, 5)
})

test('a worker goes on when its server was away', { timeout: 120_000 }, async () => {
  const server = await startServers()
  const client = await connect(server.url)
  const rows = WORKERS.map((row) => {
    const queue = row.open(client, row.name)
    return { ...row, queue, running: row.worker(queue), told: [], done: 0 }
  })
  const ended = rows.map((row) =>
    row.running.run(() => { row.done += 1 }, {
      onError: (job, error) => row.told.push([job, error.message]),
      onEvent: ({ kind }) => row.told.push(kind)
    })
  )
  const each = async (check) => { for (const row of rows) await check(row) }
  await each(async ({ queue, put, told, name }) => {
    await put(queue, 'a')
    await until(() => told.length === 1, `${name} has done a job`)
  })
  await server.run('kill')
  await each(({ told, name }) => until(() => told.length === 3, `${name}: the server is away`))
  await server.run('restart')
  await each(async (row) => {
    await until(() => row.told.length === 5, `${row.name}: the server is back`)
    await until(() => row.put(row.queue, 'b').then(() => true, () => false), 'the client is connected')
    await until(() => row.done === 2, `${row.name} has done a job`)
    row.running.stop()
  })
  await Promise.all(ended)
  for (const { told, name } of rows) {
    const [first, away, [of, why], back, [ofBack, again], last, ...more] = told
    assert.deepEqual([first, away, back, last, of, ofBack], ['done', 'away', 'back', 'done', null, null], name)
    assert.match(why, /refused|lost|closed|connect/i)
    assert.match(again, /the server is back/)
    assert.deepEqual(more, [])
  }
  await client.close()
  await server.stop()
})

// Longer than a test may take: what is not given back is missing.
const LONG = { leaseMs: 600_000 }

/**
 * Starts a program with a worker, for a URL, the name of a queue, and that of a row. It prints what it has begun, and
 * at its end how many listeners for signals are left.
 */
function startProgram(args, options, handler) {
  const source = `
import { connect } from 'millpond'
import { WORKERS } from './kit.mjs'
const [url, name, row] = process.argv.slice(1)
const client = await connect(url)
const { open, worker, valueOf } = WORKERS.find((one) => one.name === row)
await worker(open(client, name), ${JSON.stringify({ ...LONG, ...options })}).run(async (job) => {
  console.log(valueOf(job))
  await (${handler})(job)
})
console.log(process.listenerCount('SIGTERM'))
await client.close()
`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source, '--', ...args], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit']
  })
  child.stdout.setEncoding('utf8')
  return child
}

/** A test of each worker with programs, which `start` starts. */
function inPrograms(title, run) {
  const ofRow = (row) => async () => {
    const { url } = await sharedServer()
    const name = newName()
    const client = await connect(url)
    const start = (options, handler) => startProgram([url, name, row.name], options, handler)
    await run({ ...row, queue: row.open(client, name), start })
    await client.close()
  }
  describe(title, () => WORKERS.forEach((row) => test(row.name, { timeout: 120_000 }, ofRow(row))))
}

inPrograms('a signal stops a worker, and nothing is lost or repeated', async ({ queue, put, size, start }) => {
  const values = Array.from({ length: 100 }, (_, number) => `job ${number}`)
  await put(queue, ...values)
  const begun = []
  while (begun.length < values.length) {
    const handler = () => new Promise((resolve) => setTimeout(resolve, 20))
    const child = start({ concurrency: 5, prefetch: 5 }, handler)
    const lines = []
    let text = ''
    child.stdout.on('data', (data) => {
      text += data
      lines.splice(0, lines.length, ...text.split('\n').slice(0, -1))
      const isEnough = lines.length >= 30 || begun.length + lines.length === values.length
      if (isEnough && !child.killed) child.kill('SIGTERM')
    })
    const [code] = await once(child, 'close')
    // Its own listeners are gone then.
    assert.deepEqual([code, lines.pop()], [0, '0'])
    begun.push(...lines)
    // What was begun was done.
    assert.equal(await size(queue), values.length - begun.length)
  }
  assert.deepEqual(begun.sort(), values.sort())
})

inPrograms('a second signal stops at once', async (row) => {
  const { queue, put, start } = row
  await put(queue, 'at work')
  const child = start({}, ({ signal }) => new Promise(() => {
    signal.addEventListener('abort', () => console.log(signal.reason.code))
  }))
  const ended = once(child, 'close')
  let text = ''
  child.stdout.on('data', (data) => {
    text += data
    if (text === 'at work\n') {
      child.kill('SIGINT')
      setTimeout(() => child.kill('SIGTERM'), 100)
    }
  })
  assert.deepEqual(await ended, [0, null])
  assert.deepEqual(text.split('\n').sort(), ['', '0', 'LEASE_LOST', 'at work'])
  await areUntried(row, 1)
})
