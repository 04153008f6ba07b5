// Inserts tasks, now and for later; run tasks_worker.js with the same URL to work on them.
//
// node examples/node/tasks_producer.js redis://localhost
//
// Any number of producers may run. With the default, memory:, other programs do not see what is
// inserted.

import assert from 'node:assert/strict'

import { connect } from 'millpond'

const url = process.argv[2] ?? 'memory:'
const client = await connect(url)
const store = client.tasks('examples/mail')

// Many tasks in one step: all of them or none.
const { inserted } = await store.modify({
  inserts: [
    ...['ann', 'bob', 'cy'].map((to) => ({ queue: 'mails', value: { to } })),
    // One that has to go first, one for later, and one that is sent once, however often this runs
    // within a day of it.
    { queue: 'mails', value: { to: 'dee' }, priority: 9 },
    { queue: 'mails', value: { to: 'eve' }, delayMs: 500 },
    { queue: 'mails', value: { to: 'all' }, id: 'welcome', dedupWindowMs: 86_400_000, skipColliding: true }
  ]
})

assert.ok(inserted.length === 6 || url !== 'memory:')
console.log(`${inserted.length} mails to send`)
await client.close()
