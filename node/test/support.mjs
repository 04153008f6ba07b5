import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'

import { connect, InvalidArgumentError } from 'millpond'

import { sharedServer } from './servers.mjs'

const directories = []

/** A directory that is removed when all tests of the file are done. */
export async function directory() {
  directories.push(await mkdtemp(path.join(os.tmpdir(), 'millpond-node-')))
  return directories.at(-1)
}

after(async () => {
  for (const made of directories) await rm(made, { recursive: true, force: true })
})

const URLS = {
  memory: async () => 'memory:',
  file: async () => `file:${path.join(await directory(), 'data')}`,
  redis: async () => (await sharedServer()).url
}

/** The name of a queue that no other test uses. */
export function newName() {
  return randomUUID()
}

/**
 * Leases that are renewed ten times a second, however long they are: a test sees a renewal soon, and
 * loses no lease where the machine stands still. An option of a URL.
 */
export const RENEWING = '?renew_every=100ms'

/** A client that looks only when it is woken: a wait that brings something was woken. */
export const NEVER_POLLING = '?poll=never'

/**
 * A test that runs on every backend: it gets `connect`, which takes options, and the name of a
 * queue of its own. Clients are closed at the end. Options of the URL may follow.
 */
export function onEveryBackend(title, run, urlOptions = '') {
  describe(title, () => {
    for (const [backend, makeUrl] of Object.entries(URLS)) {
      test(backend, { timeout: 120_000 }, async () => {
        const url = `${await makeUrl()}${urlOptions}`
        const clients = []
        const open = async (options) => {
          // Where the machine is busy a large step can take longer than the 5 s of the default.
          clients.push(await connect(url, { timeoutMs: 60_000, ...options }))
          return clients.at(-1)
        }
        try {
          await run({ connect: open, name: newName(), url })
        } finally {
          for (const client of clients) await client.close()
        }
      })
    }
  })
}

/** Such tests of each row of a table: they get the row, a client, and its `queue`, which is what `open` makes. */
export function onEveryRow(title, rows, run, urlOptions) {
  const ofRow = (row) => async ({ connect, name }) => {
    const client = await connect()
    await run({ ...row, client, queue: await row.open(client, name) })
  }
  describe(title, () => rows.forEach((row) => onEveryBackend(row.name, ofRow(row), urlOptions)))
}

/** A signal of another library, which `abort` aborts what is under way with, and which can be used again. */
export function reusableSignal() {
  const target = new EventTarget()
  return {
    aborted: false,
    addEventListener: (...given) => target.addEventListener(...given),
    removeEventListener: (...given) => target.removeEventListener(...given),
    abort: () => target.dispatchEvent(new Event('abort'))
  }
}

/**
 * Checks the error for an argument that is wrong: of a wrong type if `Kind` is TypeError, or else of
 * a wrong value.
 */
export function refused(message, Kind = InvalidArgumentError) {
  return (error) => {
    assert.equal(error.constructor, Kind, `${error}`)
    const code = Kind === TypeError ? 'ERR_INVALID_ARG_TYPE' : 'INVALID_ARGUMENT'
    assert.equal(error.code, code)
    assert.ok(error.message.includes(message), `${error.message}\nis not\n${message}`)
    return true
  }
}

/** Checks that each of these calls rejects, whose rows are a call, what its error says, and its kind. */
export async function allRefused(calls, ...given) {
  for (const [call, message, Kind] of calls) {
    // A promise that rejects, and nothing that is thrown: callers have one kind of error to handle.
    const made = call(...given)
    await assert.rejects(made, refused(message, Kind), message)
  }
}

/** Bytes that were transferred. */
export function detached() {
  const bytes = new Uint8Array(4)
  structuredClone(bytes, { transfer: [bytes.buffer] })
  return bytes
}

/** The members of entries. */
export function membersOf(entries) {
  return entries.map(([member]) => member)
}

/** The values of the field `n` of messages. */
export function numbersOf(messages) {
  return messages.map((message) => message.field('n'))
}

/** Collects what an async iterable yields. */
export async function collect(iterable) {
  const list = []
  for await (const item of iterable) list.push(item)
  return list
}

/** Waits for this many more renewals of a job. */
export async function renewals(job, count) {
  const version = job.handle.version + count
  await until(() => job.handle.version >= version, 'the job is renewed')
}

/**
 * Waits until nothing renews a task any more, and returns it. A job beside it, which is renewed, says
 * how long that is. What `before` does comes first each time.
 */
export async function untilNotRenewed(store, id, before = async () => {}) {
  await store.insert('beside', null)
  const { value: job } = await store.worker('beside', { leaseMs: 60_000 }).jobs().next()
  const fetched = async () => (await store.fetch([id]))[0]
  let task
  await until(async () => {
    await before()
    // After these a renewal that was under way is over.
    await renewals(job, 3)
    const { version } = await fetched()
    await renewals(job, 3)
    task = await fetched()
    return task.version === version
  }, 'nothing renews it')
  await job.done()
  return task
}

/** Waits until something is so; for what has no event of its own. */
export async function until(isSo, what) {
  const deadline = Date.now() + 60_000
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
