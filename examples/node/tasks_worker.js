// Works on what tasks_producer.js inserts, until Ctrl-C or SIGTERM.
//
// node examples/node/tasks_worker.js redis://localhost
//
// Any number of workers may run. With the default, memory:, it works off a few tasks of its own.

import assert from 'node:assert/strict'

import { connect } from 'millpond'

/**
 * Sends a mail. What follows from it happens in the same step as the end of the task: here a note
 * for the archive.
 */
async function send(job) {
  const mail = job.task.value
  console.log('sending', mail)
  return { ...job.delete(), inserts: [{ queue: 'archive', value: mail }] }
}

const url = process.argv[2] ?? 'memory:'
const client = await connect(url)
const store = client.tasks('examples/mail')

// A task is leased and renewed while `send` runs, of ten tasks at once. If it fails it is retried,
// later each time; after five attempts, or if its workers died ten times while they worked on it, it
// goes to `mails/err`. What goes wrong is logged.
const worker = store.worker('mails', { concurrency: 10, maxAttempts: 5, maxCrashes: 10 })
const onError = (job, error) => console.error(job?.task.id ?? 'the worker', error)
if (url === 'memory:') {
  for (const to of ['ann', 'bob', 'cy']) await store.insert('mails', { to })
  assert.equal((await worker.drain(send, { onError })).done, 3)
} else {
  // The first signal lets mails that are being sent be sent, for up to 25 s; a second one does not.
  await worker.run(send, { onError })
}

const archive = await store.worker('archive').drain(() => {})
console.log(`${archive.done} mails archived`)
await client.close()
