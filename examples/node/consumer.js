// Works on what producer.js flags, until nothing has come for a second.
//
// node examples/node/consumer.js redis://localhost
//
// One consumer an Ick. With the default, memory:, it flags a few documents for itself first.

import assert from 'node:assert/strict'

import { connect } from 'millpond'

const url = process.argv[2] ?? 'memory:'
const client = await connect(url)
const ick = client.ick('examples/documents')
if (url === 'memory:') {
  await ick.add([[null, 'a.txt'], [null, 'b.txt'], [null, 'c.txt']])
}

let worked = 0
// A batch is committed when its turn of the loop is over. An exception leaves it reserved, and
// the next consumer gets it again: at least once.
for await (const batch of ick.batches(100, { waitMs: 1_000 })) {
  for (const [member, score] of batch) {
    console.log('working on', member)
    worked += 1
  }
}

assert.equal((await ick.stats()).csetSize, 0, 'what was worked on is committed')
assert.ok(worked === 3 || url !== 'memory:')
console.log(`${worked} documents; nothing is left`)
await client.close()
