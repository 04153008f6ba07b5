// Works on what tasks_producer.js inserts, until nothing has come for a second.
//
// node examples/node/tasks_worker.js redis://localhost
//
// Any number of workers may run. With the default, memory:, it inserts a few tasks for itself
// first.

import assert from 'node:assert/strict'

import { connect, Release } from 'millpond'

/**
 * Sends a mail. What follows from it happens in the same step as the end of the task: here a note
 * for the archive.
 */
async function send(job) {
  const mail = job.task.value
  if (job.isLost) throw new Release()
  console.log('sending', mail)
  return { ...job.delete(), inserts: [{ queue: 'archive', value: mail }] }
}

const url = process.argv[2] ?? 'memory:'
const client = await connect(url)
const store = client.tasks('examples/mail')
if (url === 'memory:') {
  for (const to of ['ann', 'bob', 'cy']) await store.insert('mails', { to })
}

// A task is leased and renewed while `send` runs. If it fails it is retried, later each time;
// after five attempts, or if its workers died ten times while they worked on it, it goes to
// `mails/err`.
const worker = store.worker('mails', { maxAttempts: 5, maxClaims: 10, waitMs: 1_000 })
await worker.run(send)

let archived = 0
for await (const batch of store.claims('archive', { max: 100 })) {
  archived += batch.length
  await store.modify({ deletes: batch })
}
assert.ok(archived === 3 || url !== 'memory:')
console.log(`${archived} mails archived`)
await client.close()
