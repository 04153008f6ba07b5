// A nightly job, by a cron expression, on a fleet of workers: one of them does it each night, once.
//
// node examples/node/events_nightly.js redis://localhost
//
// Any number of these may run. Seconds behind the URL stand for the night. With the default, memory:, the job
// is done at once.

import assert from 'node:assert/strict'

import { connect } from 'millpond'

const time = (us) => new Date(us / 1000).toISOString()

/** Does the job. Which night's it is says the time at which the event was to fire. */
async function cleanUp({ event }) {
  console.log(`clean up for ${time(event.fireAtUs)}`)
}

const [url = 'memory:', seconds] = process.argv.slice(2)
const client = await connect(url)
const queue = client.events('examples/jobs')

// Every process puts it when it starts: one that is there just so stays as it is.
const night = seconds ? { everyMs: 1000 * seconds } : { cron: '30 3 * * *', zone: 'Europe/Berlin' }
await queue.putSchedule({ id: 'nightly', ...night })
const { nextUs } = await queue.getSchedule('nightly')
console.log(`next at ${time(nextUs)}`)

const worker = queue.worker()
if (url === 'memory:') {
  await queue.triggerSchedule('nightly') // now, and the night stays as it is
  assert.equal((await worker.drain(cleanUp)).done, 1)
  assert.equal((await queue.getSchedule('nightly')).nextUs, nextUs)
} else {
  await worker.run(cleanUp)
}
await client.close()
