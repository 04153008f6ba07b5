// The shop in Node: node:http, and its workers beside it.
//
// REDIS_URL=redis://localhost PORT=8000 node examples/shop/web.mjs
//
// shop.py opens the customers' accounts, configures the events, and runs this shop in four languages.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'

import { connect } from '../../node/index.mjs' // in a project of yours: from 'millpond'

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000
const { REDIS_URL, PORT } = process.env
// Pages fail fast while the server is away; workers do not.
const pages = await connect(REDIS_URL, { retries: 0, timeoutMs: 2_000 })
const client = await connect(REDIS_URL)
const [store, news] = [client.tasks('shop'), client.events('shop/news')]

async function charge(job) {
  const [order, { customer, amount }] = [job.task.id, job.task.value]
  // Until this job ends, no other one charges this customer.
  const [account] = await job.claimDocs('accounts', customer, { waitMs: 5_000 })
  const payload = JSON.stringify({ order, customer })
  // A repeat adds nothing, as the id is made from the order.
  const dedup = { dedupId: `charged-${order}`, dedupWindowMs: WEEK_MS }
  const event = await news.publish(payload, { key: customer, ...dedup })
  const [balance, number] = [account.content.balance - amount, account.content.charges + 1]
  return {
    ...job.delete(),
    docChanges: [account.change({ content: { balance, charges: number } })],
    inserts: [{ queue: 'invoices', value: { order, customer, amount, number, event: event.status } }]
  }
}

function invoice(job) {
  const { value } = job.task
  return { ...job.delete(), docPuts: [{ namespace: 'invoices', key: value.order, content: value }] }
}

async function tell(job) {
  const { order, customer } = JSON.parse(job.event.payload)
  const notes = await store.getDoc('news', customer)
  const note = `${job.event.id} ${order}`
  if (notes.content.includes(note)) return // an event can be delivered again
  // Refused if another worker has changed it: then the event is delivered again, too.
  await store.modify({ docChanges: [notes.change({ content: [...notes.content, note] })] })
}

const server = createServer(async (request, response) => {
  if (request.method !== 'POST' || request.url !== '/orders') return response.writeHead(404).end()
  try {
    const { id, customer, amount } = await json(request)
    // A client that got no reply repeats this: the id stays taken for a week after the charge.
    const dedup = { id, dedupWindowMs: WEEK_MS, skipColliding: true }
    await pages.tasks('shop').insert('charges', { customer, amount }, dedup)
    response.writeHead(202).end()
  } catch (error) {
    console.error(error)
    response.writeHead(503).end()
  }
})
await once(server.listen(PORT, '127.0.0.1'), 'listening')
const closed = once(server, 'close')
function stop() {
  server.close()
  setTimeout(() => server.closeAllConnections(), 20_000).unref()
}
process.once('SIGTERM', stop)

// The lease is how long others wait for what a killed process held. Only the tenth kill puts a task aside.
const options = { leaseMs: 5_000, backoffMs: 500, maxCrashes: 10 }
try {
  await Promise.all([
    store.worker('charges', options).run(charge),
    store.worker('invoices', options).run(invoice),
    news.worker().run(tell)
  ])
} finally {
  stop()
  await closed
  await client.close()
  await pages.close()
}
