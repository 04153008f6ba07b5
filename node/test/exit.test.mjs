// A program ends when nothing is under way, and not before.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { connect } from 'millpond'

import { LOOPS, next, WAITS } from './kit.mjs'
import { sharedServer, startServers } from './servers.mjs'
import { directory, newName } from './support.mjs'

const cwd = fileURLToPath(new URL('.', import.meta.url))
const LIMITS = { cwd, timeout: 60_000, killSignal: 'SIGKILL' }

/** Runs a program; it is killed, and the test fails, if it does not end. */
async function run(program, ...given) {
  const source = `import { connect } from 'millpond'
import { LOOPS, next, WAITS } from './kit.mjs'
const given = process.argv.slice(1)
${program}`
  const options = ['--input-type=module', '-e', source, '--', ...given]
  return promisify(execFile)(process.execPath, options, LIMITS)
}

/** In memory, on a file and on a server. */
async function urls() {
  return ['memory:', `file:${path.join(await directory(), 'data')}`, (await sharedServer()).url]
}

const IDLE = `
const client = await connect(given[0])
const ick = client.ick(given[1])
const lease = await ick.lease(60_000)
await lease.reserve(1)
lease.signal.addEventListener('abort', () => {})
const lock = await client.volatileHash('x').lock('a', 60_000)
lock.signal.addEventListener('abort', () => {})
const store = client.tasks(given[1])
await store.insert('q')
const { value: job } = await store.worker('q').jobs().next()
job.signal.addEventListener('abort', () => {})
const tracking = client.shuffleQueue(given[1], { trackKeys: 'queue' })
await tracking.writeTracked('tenant', { n: '1' }, 'n', { deadline: 1_000_000_000 })
const garbage = tracking.gc()
console.log((await garbage.next()).value)
const recruiter = client.recruiter(given[1])
recruiter.install('always', { share: 1 }, () => 1)
recruiter.install('often', { perSecond: 1000 }, () => 1)
console.log((await recruiter.enlist()).why)
recruiter.uninstall('always')
await recruiter.enlist()
const loops = []
for (const row of LOOPS) {
  const queue = row.open(client, given[1] + row.name)
  await row.put(queue, 'a')
  loops.push(row.loop(queue, { waitMs: Infinity }))
  console.log(await next(row, loops.at(-1)))
}
`

test('with clients, leases, recruiters and loops that are idle', async () => {
  for (const url of await urls()) {
    const { stdout, stderr } = await run(IDLE, url, newName())
    assert.deepEqual([stdout, stderr], [`[ '1' ]\nworked\n${"[ 'a' ]\n".repeat(LOOPS.length)}`, ''])
  }
})

const WAITING = `
const client = await connect(given[0])
WAITS.forEach(async (row) => {
  const queue = row.open(client, given[1] + row.name)
  const over = row.isEndless ? [] : await row.wait(queue, { waitMs: 300 })
  const waiting = row.wait(queue, { waitMs: Infinity, signal: AbortSignal.timeout(100) })
  console.log(over, await waiting.catch((error) => error.name))
})
`

test('not before a wait is over or aborted', async () => {
  for (const url of await urls()) {
    const { stdout, stderr } = await run(WAITING, url, newName())
    assert.deepEqual([stdout, stderr], ['[] TimeoutError\n'.repeat(WAITS.length), ''])
  }
})

test('CommonJS', async () => {
  const source = `
const { connect } = require('millpond')
async function main() {
  const { LOOPS } = await import('./kit.mjs')
  const [url, name] = process.argv.slice(1)
  const client = await connect(url)
  for (const row of LOOPS) {
    const queue = row.open(client, name + row.name)
    await row.put(queue, 'a')
    for await (const batch of row.loop(queue, {})) console.log(row.valuesOf(batch), await row.size(queue))
  }
}
main()`
  for (const url of await urls()) {
    const options = ['-e', source, '--', url, newName()]
    const { stdout, stderr } = await promisify(execFile)(process.execPath, options, LIMITS)
    assert.deepEqual([stdout, stderr], ["[ 'a' ] 1\n".repeat(LOOPS.length), ''])
  }
})

test('in the middle of calls', async () => {
  const server = await startServers()
  const client = await connect(server.url)
  await client.close()
  const busy = (ending) => `
const client = await connect(given[0], { timeoutMs: 60_000 })
const ick = client.ick('x')
await ick.add(['a'])
await ick.lease(60_000)
for (let number = 0; number < 1000; number += 1) ick.add([[1, String(number)]]).catch(() => {})
ick.batches(1, { waitMs: Infinity }).next()
client.ick('y').batches(1, { waitMs: Infinity }).next()
setTimeout(() => { ${ending} }, 5)
`
  for (let turn = 0; turn < 5; turn += 1) {
    assert.equal((await run(busy('process.exit(0)'), server.url)).stderr, '')
    await assert.rejects(run(busy("throw new Error('on purpose')"), server.url), (error) => {
      assert.deepEqual([error.code, error.signal], [1, null])
      assert.match(error.stderr, /on purpose/)
      return true
    })
  }
  await server.stop()
})

const ACKNOWLEDGED = `
const client = await connect(given[0])
for (const row of LOOPS) await row.put(row.open(client, row.name), 'a')
process.exit(0)
`

test('what a file has acknowledged is there afterwards', async () => {
  const url = `file:${path.join(await directory(), 'data')}`
  await run(ACKNOWLEDGED, url)
  const client = await connect(url)
  for (const row of LOOPS) {
    assert.deepEqual(await next(row, row.loop(row.open(client, row.name), {})), ['a'], row.name)
  }
  await client.close()
})
