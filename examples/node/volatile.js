// What a volatile hash is for: sessions that end when nobody uses them, and a page that many ask for and one renders.
//
// node examples/node/volatile.js [URL]

import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'

import { connect, LeaseLostError } from 'millpond'

const MINUTE = 60 * 1000

const client = await connect(process.argv[2] ?? 'memory:')
// A hash of its own for each run.
const hash = client.volatileHash(`examples/site/${process.pid}`)

// A session lives for half an hour after its last use.
await hash.set('session:ann', '{"cart": 3}', 30 * MINUTE)
assert.equal(await hash.get('session:ann'), '{"cart": 3}')
assert.equal(await hash.touch('session:ann', 30 * MINUTE), true)
assert.ok((await hash.ttl('session:ann')) > 29 * MINUTE)
// A session that is not there, or has expired, is not revived.
assert.equal(await hash.touch('session:bob', 30 * MINUTE), false)

// Many requests for one page: one of them gets its lock and renders it, the others wait for that.
let rendered = 0

async function page(path, token) {
  for (;;) {
    const { value, fence, remainingMs } = await hash.getOrAcquire(path, token, MINUTE)
    if (value !== null) return value
    if (fence !== null) {
      rendered += 1
      const html = `<h1>rendered by ${token}</h1>`
      await hash.setAndRelease(path, token, html, 5 * MINUTE)
      return html
    }
    await setTimeout(Math.min(remainingMs, 20))
  }
}

const tokens = ['web-1', 'web-2', 'web-3', 'web-4']
const pages = await Promise.all(tokens.map((token) => page('/', token)))
assert.equal(new Set(pages).size, 1)
assert.equal(rendered, 1)
console.log(`${pages.length} requests, rendered once: ${pages[0]}`)

// A request that was stopped for too long has lost its lock: what it has computed is refused.
const { fence: old } = await hash.acquire('/news', 'web-1', MINUTE)
await hash.release('/news', 'web-1') // as if its time were over
const { fence } = await hash.acquire('/news', 'web-2', MINUTE)
assert.ok(fence > old)
await assert.rejects(hash.setAndRelease('/news', 'web-1', 'old news', MINUTE), LeaseLostError)
await hash.setAndRelease('/news', 'web-2', 'news', MINUTE)

// What is left, those first that expire first.
const { fields } = await hash.fields({ omitValues: true })
assert.deepEqual(fields.map(({ field }) => field), ['/news', '/', 'session:ann'])
assert.equal(await hash.clear(), 3)
await client.close()
