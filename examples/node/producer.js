// Flags documents as dirty; run consumer.js with the same URL to work on them.
//
// node examples/node/producer.js redis://localhost
//
// Any number of producers may run. With the default, memory:, other programs do not see what is
// flagged.

import assert from 'node:assert/strict'

import { connect } from 'millpond'

const url = process.argv[2] ?? 'memory:'
const client = await connect(url)
const ick = client.ick('examples/documents')

// Three documents, with no score: the server's time, so the oldest flag comes first.
await ick.add([[null, 'a.txt'], [null, 'b.txt'], [null, 'c.txt']])

// A busy document is flagged a thousand times and is one piece of work. It may be new, if a
// consumer took the first flag meanwhile; a later time never lowers its score.
const added = await ick.add(Array(1_000).fill([null, 'busy.txt']))
assert.ok(added.new <= 1)
assert.equal(added.lowered, 0)

const stats = await ick.stats()
assert.ok(stats.psetSize <= 4 || url !== 'memory:')
console.log(`flagged; ${stats.psetSize} documents wait, ${stats.csetSize} are being worked on`)
await client.close()
