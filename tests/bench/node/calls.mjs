// Calls per second from Node, ours and those of the two favourite clients in turn; prints a list
// of rows as JSON.
//
// Arguments: the server's URL, the source of the script that an add calls.

import { performance } from 'node:perf_hooks'

import { Redis } from 'ioredis'
import { createClient } from 'redis'

import millpond from '../../../node/index.js'
import { compare } from './measure.mjs'

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

const rows = []
for (const concurrent of [1, 64]) {
  for (const [peer, theirs] of Object.entries(peers)) {
    const aim = peer === 'ioredis' && concurrent === 64 ? 1 : undefined
    const row = { name: 'add', concurrent, peer, aim }
    const measured = [ours, theirs].map((call) => () => measure(call, concurrent))
    rows.push(await compare(ROUNDS, row, ...measured))
  }
}
console.log(JSON.stringify(rows))
await client.close()
ioredis.disconnect()
nodeRedis.destroy()
