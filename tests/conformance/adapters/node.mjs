// The adapter for Node: one JSON request a line in, one JSON answer a line out.

import readline from 'node:readline'

import { connect, MillpondError } from '../../../node/index.mjs'

const STATS = {
  ver: 'ver',
  key: 'key',
  pset_key: 'psetKey',
  cset_key: 'csetKey',
  pset_size: 'psetSize',
  cset_size: 'csetSize',
  total_size: 'totalSize',
  pset_min: 'psetMin',
  pset_max: 'psetMax',
  cset_min: 'csetMin',
  cset_max: 'csetMax',
  total_min: 'totalMin',
  total_max: 'totalMax'
}

/** Node, or the package, has no way to say this. */
class Unsupported extends Error {}

const FLOATS = { inf: Infinity, '-inf': -Infinity, nan: NaN }

/** A value of a request as Node has it: strings are Buffers. */
function decoded(value) {
  if (typeof value === 'string') return Buffer.from(value)
  if (Array.isArray(value)) return value.map(decoded)
  if (typeof value !== 'object' || value === null) return value
  const [[label, text]] = Object.entries(value)
  if (label === 'b64') return Buffer.from(text, 'base64')
  if (label === 'float') return FLOATS[text.toLowerCase()]
  if (label === 'int') return BigInt(text)
  if (label === 'string') return text
  throw new Unsupported(`Node has no ${label}`)
}

/** A value of an answer as JSON has it. */
function encoded(value) {
  if (Buffer.isBuffer(value)) {
    const text = value.toString()
    return Buffer.from(text).equals(value) ? text : { b64: value.toString('base64') }
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return { float: Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf' }
  }
  return Array.isArray(value) ? value.map(encoded) : value
}

/** The pairs of an add, [score, member]. */
function pairs(request) {
  return request.pairs.map(([score, member]) => {
    if (score === null) throw new Unsupported('a score of null is the server\'s time')
    const number = decoded(score)
    // A whole number that JSON cannot hold is a double all the same.
    return [typeof number === 'bigint' ? Number(number) : number, decoded(member)]
  })
}

let client

/** Makes the call of one request. */
async function result(request) {
  const { call } = request
  if (call === 'open') {
    await client?.close()
    client = await connect(request.url, { returnBuffers: true })
    return null
  }
  if (call === 'close') return (await client.close()) ?? null
  const ick = client.ick(decoded(request.name))
  const options = { backwash: request.backwash }
  if (call === 'add') {
    const added = await ick.add(pairs(request))
    return [added.new, added.lowered]
  }
  if (call === 'reserve') return ick.reserve(decoded(request.max), options)
  if (call === 'commit') return ick.commit(decoded(request.members))
  if (call === 'exchange') {
    return ick.exchange(decoded(request.max), decoded(request.members), options)
  }
  if (call === 'stats') {
    const stats = await ick.stats()
    const named = ([name, ours]) => [name, encoded(stats[ours])]
    return stats && Object.fromEntries(Object.entries(STATS).map(named))
  }
  if (call === 'delete') return request.unlink ? ick.unlink() : ick.delete()
  if (call === 'peek') return ick.peek(request.max, { set: request.set })
  throw new Unsupported(`the call ${call} is not known`)
}

/** The answer to one request. */
async function answer(request) {
  try {
    return { result: encoded(await result(request)) }
  } catch (error) {
    if (error instanceof Unsupported) return { unsupported: error.message }
    if (!(error instanceof MillpondError)) throw error
    return { error: { code: error.number, name: error.code, message: error.message } }
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const request = JSON.parse(line)
  process.stdout.write(`${JSON.stringify({ id: request.id, ...(await answer(request)) })}\n`)
}
await client?.close()
