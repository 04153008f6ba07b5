// What events are for: things that happen at their time, in order for each customer, until somebody has
// done them.
//
// node examples/node/events.js [URL]

import assert from 'node:assert/strict'

import { connect } from 'millpond'

const DAY = 24 * 60 * 60 * 1000

const client = await connect(process.argv[2] ?? 'memory:')
// A queue of its own for each run.
const queue = client.events(`examples/shop/${process.pid}`)

// A cart is left: a reminder tomorrow, once, however often the page says so.
const reminder = { delayMs: DAY, dedupId: 'cart-of-ann' }
const first = await queue.publish('remind ann', reminder)
const again = await queue.publish('remind ann', reminder)
assert.deepEqual([again.status, again.id], ['duplicate', first.id])

// She looks at it again: a day later. She buys: no reminder.
assert.deepEqual(await queue.reschedule(first, 2 * DAY), ['rescheduled'])
assert.deepEqual(await queue.cancel(first), ['removed'])

// What happens to one order happens in order; other orders do not wait for it.
await queue.publishMany([
  { payload: 'order 7 is paid', key: 'order-7' },
  { payload: 'order 7 is sent', key: 'order-7' },
  { payload: 'order 8 is paid', key: 'order-8' }
])
const [paid, other] = await queue.receive(10)
assert.deepEqual([`${paid.payload}`, `${other.payload}`], ['order 7 is paid', 'order 8 is paid'])

// The printer is out of paper: this one comes again at once, and before what follows in its order.
await queue.nack(paid, 'out of paper', { afterMs: 0 })
await queue.ack(other)
for (const text of ['order 7 is paid', 'order 7 is sent']) {
  const [event] = await queue.receive(10)
  assert.equal(event.payload.toString(), text)
  console.log(`${text} (attempt ${event.attempts})`)
  await queue.ack(event)
}
assert.equal((await queue.stats()).events, 0)
await queue.delete()
await client.close()
