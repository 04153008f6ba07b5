// What an Ick is for: a document that changes while it is being worked on is processed again.
//
// node examples/node/first.js [URL]

import assert from 'node:assert/strict'

import { connect } from 'millpond'

const url = process.argv[2] ?? 'memory:'
const client = await connect(url)
const ick = client.ick('examples/first')
await ick.delete()

// Flag two documents. The score says how urgent: the lowest comes first.
let added = await ick.add([[2, 'b.txt'], [1, 'a.txt']])
assert.deepEqual(added, { new: 2, lowered: 0 })

// Flag one of them again: it is merged into the existing flag, which keeps its score.
added = await ick.add([[3, 'a.txt']])
assert.deepEqual(added, { new: 0, lowered: 0 })

// Take a batch. It stays reserved until it is committed.
const batch = await ick.reserve(10)
assert.deepEqual(batch.map(([member, score]) => member), ['a.txt', 'b.txt'])

// While we work, a.txt changes again. The commit does not remove that flag.
await ick.add([[4, 'a.txt']])
assert.equal(await ick.commit(['a.txt', 'b.txt']), 2)

assert.deepEqual(await ick.reserve(10), [['a.txt', 4]])
console.log('a.txt changed while it was being worked on, and came again')

await ick.delete()
await client.close()
