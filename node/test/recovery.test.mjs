/** What opening a directory found is returned by the client and reported as warnings. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { connect, CorruptError } from 'millpond'
import { directory } from './support.mjs'

const LOG = '00000000000000000001.log'

/** Connects, and returns the client and the one warning that was emitted. */
async function warned(url) {
  const told = once(process, 'warning')
  const client = await connect(url)
  const [warning] = await told
  assert.equal(warning.name, 'MillpondWarning')
  return [client, warning.message]
}

test('a torn end and a cut', async () => {
  const folder = await directory()
  const [data, copy] = ['data', 'copy'].map((name) => path.join(folder, name))
  const client = await connect(`file:${data}?sync=never`)
  const empty = client.recovery()
  assert.deepEqual(empty, { ...empty, records: 0, tornBytes: 0, closed: true, suspicion: null })
  assert.deepEqual(empty.warnings, [])
  await client.ick('files').add([[1, 'a']])
  await client.ick('files').add([[2, 'b']])
  // What a kill would leave, and less.
  fs.mkdirSync(copy, { mode: 0o700 })
  const cut = (from, to) => fs.writeFileSync(to, fs.readFileSync(from).subarray(0, -5))
  cut(path.join(data, LOG), path.join(copy, LOG))
  await client.close()

  const [torn, message] = await warned(`file:${copy}`)
  const found = torn.recovery()
  assert.equal(message, found.suspicion)
  assert.match(message, new RegExp(`: ${found.tornBytes} bytes .* were cut off`))
  assert.deepEqual(
    [found.records, found.snapshotBytes, found.closed, found.warnings],
    [1, 0, false, [message]]
  )
  assert.ok(found.tornBytes > 40 && found.logBytes > 1000)
  await torn.close()

  cut(path.join(copy, LOG), path.join(copy, LOG))
  await assert.rejects(connect(`file:${copy}`), CorruptError)
  const [repaired, told] = await warned(`file:${copy}?repair`)
  assert.match(told, /^repaired, /)
  await repaired.close()
})

test('other clients have none', async () => {
  const client = await connect('memory:')
  assert.equal(client.recovery(), null)
  await client.close()
})
