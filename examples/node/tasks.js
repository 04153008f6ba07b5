// What a task store is for: a step of work and everything that follows from it happen together,
// once, even if several workers try it.
//
// node examples/node/tasks.js [URL]

import assert from 'node:assert/strict'

import { connect, DependencyError, Retry } from 'millpond'

const url = process.argv[2] ?? 'memory:'
const client = await connect(url)
// A store of its own for each run.
const name = `examples/tasks/${process.pid}`
const ann = client.tasks(name, { claimant: 'ann' })
const bob = client.tasks(name, { claimant: 'bob' })

// An order, and an account that it will be taken from.
await ann.insert('orders', { account: '7', price: 30 })
await ann.putDoc('accounts', '7', { balance: 100 })

// Ann claims the order, and is too slow: her lease is over at once. Bob claims it as well.
const anns = await ann.claim('orders', { leaseMs: 0 })
const bobs = await bob.claim('orders', { leaseMs: 30_000 })
assert.deepEqual([anns.version, bobs.version], [1, 2])

// Bob does all of it in one step: the order is gone, the invoice is there, the balance is less.
const [account] = await bob.claimDocs('accounts', bobs.value.account)
const balance = account.content.balance - bobs.value.price
const { changedDocs } = await bob.modify({
  deletes: [bobs],
  inserts: [{ queue: 'invoices', value: bobs.value }],
  docChanges: [account.change({ content: { balance }, release: true })]
})
assert.deepEqual(changedDocs[0].content, { balance: 70 })

// Ann's version is stale, so her modification is refused: no second invoice.
try {
  await ann.modify({ deletes: [anns], inserts: [{ queue: 'invoices', value: anns.value }] })
  assert.fail('the order was gone')
} catch (error) {
  if (!(error instanceof DependencyError)) throw error
  assert.deepEqual(error.deletes, [{ id: anns.id, version: 1 }])
  console.log(`one order, one invoice: ${error.message}`)
}

// A worker claims, renews while the handler works, retries what failed, and moves to the error
// queue what fails too often.
const worker = bob.worker('invoices', { backoffMs: 0, backoffMaxMs: 0, maxAttempts: 2 })
await worker.drain(() => {
  throw new Retry('the printer is off')
})
const [aside] = (await bob.list('invoices/err')).tasks
assert.deepEqual([aside.attempt, aside.err], [2, 'the printer is off\nexhausted: the printer is off'])
console.log(`after ${aside.attempt} attempts in ${aside.queue}: ${aside.err.replace('\n', '; ')}`)

// It is switched on, and the invoice moved back.
await bob.modify({ changes: [aside.change({ queue: 'invoices', attempt: 0, err: '' })] })
await worker.drain((job) => console.log('printed', job.task.json))
assert.equal((await bob.queues()).size, 0)
await bob.modify({ docDeletes: [await bob.getDoc('accounts', '7')] })
await client.close()
