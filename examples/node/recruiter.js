// What a recruiter is for: work in the background with no process of its own. The pages of a site remove expired carts
// and send mails, a little after each page.
//
// node examples/node/recruiter.js [URL]

import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'

import { connect } from 'millpond'

const client = await connect(process.argv[2] ?? 'memory:')
// Of its own for each run.
const carts = client.volatileHashes(`examples/carts/${process.pid}`)
for (let number = 0; number < 100; number += 1) {
  await carts.hash(`customer ${number}`).set('book', '1', 1)
}
const outbox = Array.from({ length: 20 }, (_, number) => `mail ${number}`)
const failures = new Map()
let removed = 0

const recruiter = client.recruiter(`examples/site/${process.pid}`)
recruiter.setDutyMax(1) // the pages of this program do nothing else
// Without a job it is the server's error: it did not respond in time.
recruiter.onError((job, error) => failures.set(job, error.message))

// 200 slices a second, in all processes of the site together. A slice takes up to 20 ms.
recruiter.install('reap', { perSecond: 200, budgetMs: 20 }, async (slice) => {
  let count = 0
  while (!slice.isOver) {
    const { fields, more } = await carts.reap({ limit: 10 })
    count += fields
    if (!more) break
    slice.more() // so that the job does not slow down
  }
  removed += count
  return count // 0 says that there was nothing to do: the job then runs less often
})

// One page in two, by a lottery in the process.
recruiter.install('mail', { share: 0.5 }, () => {
  if (outbox.length === 0) return false
  outbox.shift() // send it
  return true
})

// A job that fails, fails no page.
recruiter.install('report', { share: 0.1 }, () => {
  throw new Error('no database')
})

while (removed < 100 || outbox.length > 0 || !failures.has('report')) {
  // A page is sent to its visitor here; then:
  const { recruited, why } = await recruiter.enlist()
  assert.ok(!recruited || why === 'worked')
  await setTimeout(1)
}
recruiter.stop()
assert.equal((await recruiter.enlist()).why, 'stopped')
assert.equal(removed, 100)
assert.equal(failures.get('report'), 'no database')
console.log('100 carts were removed and 20 mails sent, and no page failed')

// What the processes have reported, a moment later.
const items = async () => new Map((await recruiter.stats()).jobs.map(({ job, items }) => [job, items]))
for (let seen = await items(); seen.get('reap') !== 100 || seen.get('mail') !== 20; seen = await items()) {
  await setTimeout(1)
}
await client.close()
