// Calls a second from Node, ours and those of the two favourite clients in turn; prints a list of
// rows as JSON.
//
// Arguments: the server's URL, the source of the script that an add calls.

import { performance } from 'node:perf_hooks'

import { Redis } from 'ioredis'
import { createClient } from 'redis'

import millpond from '../../../node/index.js'

const ROUNDS = 15
const KEYS = ['k', 'k/ick/{k}/pset', 'k/ick/{k}/cset']
const ARGS = ['0', '1763691473.5', 'document-00000001']
const PAIR = [[1763691473.5, 'document-00000001']]

const [url, source] = process.argv.slice(2)

const client = await millpond.connect(url)
const ick = client.ick('k')
const ioredis = new Redis(url, { enableAutoPipelining: true })
const nodeRedis = await createClient({ url }).connect()
const sha = await ioredis.script('LOAD', source)

const ours = () => ick.add(PAIR)
const peers = {
  ioredis: () => ioredis.evalsha(sha, 3, ...KEYS, ...ARGS),
  'node-redis': () => nodeRedis.evalSha(sha, { keys: KEYS, arguments: ARGS })
}

async function measure(call, concurrent) {
  const calls = concurrent === 1 ? 1000 : 20_000
  async function worker() {
    for (let number = 0; number < calls / concurrent; number += 1) await call()
  }
  const began = performance.now()
  await Promise.all(Array.from({ length: concurrent }, worker))
  return (calls * 1000) / (performance.now() - began)
}

async function compare(peer, concurrent) {
  const figures = []
  for (let round = 0; round <= ROUNDS; round += 1) {
    const inTurn = [ours, peers[peer]]
    if (round % 2) inTurn.reverse()
    const found = [await measure(inTurn[0], concurrent), await measure(inTurn[1], concurrent)]
    figures.push(round % 2 ? found.reverse() : found)
  }
  figures.shift() // the first round warms up
  const row = {
    name: 'add',
    concurrent,
    peer,
    ours: median(figures.map(([first]) => first)),
    theirs: median(figures.map(([, second]) => second)),
    ratio: median(figures.map(([first, second]) => first / second))
  }
  return peer === 'ioredis' && concurrent === 64 ? { ...row, aim: 1 } : row
}

function median(figures) {
  const sorted = figures.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)]
}

const rows = []
for (const concurrent of [1, 64]) {
  for (const peer of Object.keys(peers)) rows.push(await compare(peer, concurrent))
}
console.log(JSON.stringify(rows))
await client.close()
ioredis.disconnect()
nodeRedis.destroy()
