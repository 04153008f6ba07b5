// A program ends when nothing is under way, and not before.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { connect } from 'millpond'

import { sharedServer, startServers } from './servers.mjs'
import { directory, newName } from './support.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))

/** Runs a program; it is killed, and the test fails, if it does not end. */
async function run(program, ...given) {
  const source = `import { connect } from 'millpond'\nconst given = process.argv.slice(1)\n${program}`
  const options = ['--input-type=module', '-e', source, '--', ...given]
  const limits = { cwd: here, timeout: 60_000, killSignal: 'SIGKILL' }
  const { stdout, stderr } = await promisify(execFile)(process.execPath, options, limits)
  return { stdout, stderr }
}

const IDLE = `
const ick = (await connect(given[0])).ick(given[1])
const lease = await ick.lease(60_000)
await lease.reserve(1)
lease.signal.addEventListener('abort', () => {})
const store = (await connect(given[0])).tasks(given[1])
await store.insert('q')
const { value: job } = await store.worker('q').jobs().next()
job.signal.addEventListener('abort', () => {})
const batches = ick.batches(1, { waitMs: Infinity })
console.log(await ick.add(['a']), (await batches.next()).value.length)
`

test('with clients, leases and loops that are idle', async () => {
  const urls = ['memory:', `file:${path.join(await directory(), 'data')}`, (await sharedServer()).url]
  for (const url of urls) {
    const { stdout, stderr } = await run(IDLE, url, newName())
    assert.deepEqual([stdout, stderr], ['{ new: 1, lowered: 0 } 1\n', ''])
  }
})

test('not before a call has its result', async () => {
  const waits = `
const ick = (await connect(given[0])).ick(given[1])
ick.batches(1, { waitMs: 300 }).next().then(({ done }) => console.log('over', done))
`
  for (const url of ['memory:', (await sharedServer()).url]) {
    assert.equal((await run(waits, url, newName())).stdout, 'over true\n')
  }
})

test('when the last wait is aborted', async () => {
  const aborts = `
const ick = (await connect(given[0])).ick(given[1])
const signal = AbortSignal.timeout(100)
const asked = ick.batches(1, { waitMs: Infinity, signal }).next()
setTimeout(() => {}, 150) // the signal's own timer keeps no program alive
await asked.catch((error) => console.log(error.name))
`
  for (const url of ['memory:', (await sharedServer()).url]) {
    assert.equal((await run(aborts, url, newName())).stdout, 'TimeoutError\n')
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

test('what a file has acknowledged is there afterwards', async () => {
  const url = `file:${path.join(await directory(), 'data')}`
  await run(`await (await connect(given[0])).ick('x').add([[1, 'a']]); process.exit(0)`, url)
  const client = await connect(url)
  assert.deepEqual(await client.ick('x').reserve(1), [['a', 1]])
  await client.close()
})
