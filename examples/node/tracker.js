// What a queue tracker is for: a page shows which customers have work queued, and the work is in a database, which it
// cannot ask each time. The pages themselves keep the tracker up to date, in small slices.
//
// node examples/node/tracker.js [URL]

import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'

import { connect } from 'millpond'
import initSqlJs from 'sql.js'

const client = await connect(process.argv[2] ?? 'memory:')
// Of its own for each run.
const tracker = client.queueTracker(`examples/customers/${process.pid}`)

const { Database } = await initSqlJs()
const database = new Database()
/** The rows that a query finds. */
const query = (sql, values) => database.exec(sql, values)[0]?.values ?? []
query('create table work(number integer primary key, customer text not null)')
for (let number = 0; number < 100; number += 1) {
  query('insert into work(customer) values (?)', [`customer ${number % 10}`])
}

const recruiter = client.recruiter(`examples/shop/${process.pid}`)
recruiter.setDutyMax(1) // the pages of this program do nothing else

// One scan and one prune at a time, in all processes of the shop together. The functions that ask the database may be
// asynchronous.
recruiter.install('scan', { perSecond: 200, maxRunning: 1 }, async (slice) => {
  const { rows, more } = await tracker.scan((after, limit) => {
    const sql = 'select number, customer from work where number > ? order by number limit ?'
    return query(sql, [Number(after ?? 0), limit])
  })
  if (more) slice.more() // so that the job does not slow down
  return rows
})

recruiter.install('prune', { perSecond: 200, maxRunning: 1 }, async (slice) => {
  const { removed } = await tracker.prune((ids) => {
    const places = ids.map(() => '?').join(', ')
    const queued = query(`select distinct customer from work where customer in (${places})`, ids).flat()
    return ids.filter((id) => !queued.includes(id))
  })
  if (removed > 0) slice.more()
  return removed
})

const customers = Array.from({ length: 11 }, (_, number) => `customer ${number}`)

/** The numbers of the customers that are tracked. */
async function tracked() {
  const areQueued = await tracker.areQueued(customers)
  return [...areQueued.keys()].filter((number) => areQueued[number])
}

async function enlistUntil(expected) {
  while (!isDeepStrictEqual(await tracked(), expected)) {
    // A page is sent to its visitor here; then:
    await recruiter.enlist()
    await setTimeout(1)
  }
}
await enlistUntil([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])

// The work of four customers is done, and there is work for another one. Its row first, and then its id.
query("delete from work where customer in ('customer 1', 'customer 3', 'customer 5', 'customer 7')")
query("insert into work(customer) values ('customer 10')")
await tracker.add(['customer 10'])
assert.equal(await tracker.isQueued('customer 10'), true)
await enlistUntil([0, 2, 4, 6, 8, 9, 10])
assert.equal(await tracker.len(), 7)
recruiter.stop()
console.log('7 of 11 customers have work queued, as the database says')
await client.close()
