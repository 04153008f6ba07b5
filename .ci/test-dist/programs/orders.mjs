// node orders.mjs URL produce|work|count [NUMBER]: orders that become invoices, as in the other languages' programs.
import { setTimeout } from 'node:timers/promises'

import { connect } from 'millpond'

const bill = async (job) => {
  await setTimeout(20)
  console.log(job.task.value.number)
  return { ...job.delete(), inserts: [{ queue: 'invoices', value: job.task.value }] }
}

const [url, role, number = '0'] = process.argv.slice(2)
const client = await connect(url)
const store = client.tasks('shop')
const insert = async (count) => {
  for (let order = 0; order < count; order++) await store.insert('orders', { number: order })
}
if (role === 'produce') {
  await insert(Number(number))
} else if (role === 'work') {
  await store.worker('orders', { concurrency: 2, leaseMs: 1_000 }).run(bill)
  console.log('stopped')
} else {
  if (url === 'memory:') {
    await insert(3)
    await store.worker('orders').drain(bill)
  }
  const queues = await store.queues()
  console.log(`${queues.get('orders') ?? 0} orders, ${queues.get('invoices') ?? 0} invoices`)
}
await client.close()
