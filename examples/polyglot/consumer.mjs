// Works on the documents in two of the four Icks, from Node. polyglot.py runs it.
//
// Prints the documents of each batch before it is committed, one a line, and ends at SIGTERM.

import { connect } from '../../node/index.mjs' // in a project of yours: from 'millpond'

const stop = new AbortController()
process.on('SIGTERM', () => stop.abort())

const client = await connect(process.argv[2])
const channel = client.ickChannel('polyglot', 4)
try {
  const batches = channel.batches([0, 1], 10, { waitMs: 60_000, signal: stop.signal })
  for await (const batch of batches) {
    process.stdout.write(batch.map(([member]) => `${member}\n`).join(''))
  }
} catch (error) {
  if (error.name !== 'AbortError') throw error
}
await client.close()
