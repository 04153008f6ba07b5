// Pages, after which a recruiter drains a task store and reaps a family of hashes, if `MILLPOND_URL` names a server.
// With `MILLPOND_ENLIST=no` it is loaded, connected and installed, but never enlists.
//
// Arguments: the port.

import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

import millpond from '../../../node/index.js'

const BODY = 'a page of the site '.repeat(100)
const url = process.env.MILLPOND_URL

let recruiter
const enlists = process.env.MILLPOND_ENLIST !== 'no'
if (url) {
  const client = await millpond.connect(url)
  recruiter = client.recruiter('site')
  recruiter.setDutyMax(1)
  recruiter.install('orders', { perSecond: 10, budgetMs: 10 }, async (slice) => {
    const worker = client.tasks('store').worker('orders', { budgetMs: slice.remainingMs, concurrency: 1 })
    const { done } = await worker.drain(() => sleep(1))
    if (slice.isOver) slice.more()
    return done
  })
  recruiter.install('reap', { perSecond: 20 }, async (slice) => {
    const { fields, more } = await client.volatileHashes('carts').reap({ limit: 20 })
    if (more) slice.more()
    return fields
  })
}

createServer((request, response) => {
  if (recruiter && enlists) response.once('finish', () => recruiter.enlist())
  response.end(BODY)
}).listen(Number(process.argv[2]), '127.0.0.1')
