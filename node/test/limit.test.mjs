// A test that hangs, in a suite of its own.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

import './limit.mjs'

test('what hangs is named and ended', async (context) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'millpond-node-'))
  context.after(() => rm(folder, { recursive: true }))
  const hanging = path.join(folder, 'hanging.test.mjs')
  const limit = new URL('limit.mjs', import.meta.url)
  await writeFile(
    hanging,
    `import { test } from 'node:test'
    import ${JSON.stringify(limit)}
    test('is quick', () => {})
    // Blocks the event loop: no timer runs.
    test('blocks', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))`
  )
  const { NODE_TEST_CONTEXT, ...env } = process.env
  const options = { env: { ...env, MILLPOND_TEST_SECONDS_MAX: '5' } }
  const run = promisify(execFile)(process.execPath, ['--test', hanging], options)
  const { stdout, stderr } = await run.then(() => assert.fail('it passed'), (failure) => failure)
  assert.match(stdout + stderr, /HANGS: hanging.test.mjs: blocks did not end within 5 s/)
})
