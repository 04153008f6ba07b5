// The adapter for Node: one JSON request per line in, one JSON response per line out.

import readline from 'node:readline'

import { connect, DependencyError, InvalidArgumentError, MillpondError, shard } from '../../../node/index.mjs'
import { asSaid, dependency, taskCalls } from './node_tasks.mjs'

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

/** Node, or the package, cannot express this. */
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

/** A value of a response as JSON has it. */
function encoded(value) {
  if (Buffer.isBuffer(value)) {
    const text = value.toString()
    return Buffer.from(text).equals(value) ? text : { b64: value.toString('base64') }
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return { float: Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf' }
  }
  if (Array.isArray(value)) return value.map(encoded)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, part]) => part !== undefined)
  return Object.fromEntries(entries.map(([name, part]) => [name, encoded(part)]))
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

/** Seconds, which the package has in milliseconds. */
function milliseconds(seconds) {
  const time = decoded(seconds)
  return typeof time === 'number' ? time * 1000 : time
}

/** A message as a response has it. */
function shown({ stream, id, fields, deliveries }) {
  return { stream, id, fields, deliveries }
}

/** The queue of a request, with the settings that it names. */
function shuffleQueue(request) {
  return client.shuffleQueue(decoded(request.name), {
    streams: decoded(request.streams) ?? undefined,
    streamsPerShard: decoded(request.streams_per_shard) ?? undefined,
    ttlMs: milliseconds(request.ttl) ?? undefined,
    deadTtlMs: milliseconds(request.dead_ttl) ?? undefined,
    trackKeys: request.track_keys
  })
}

/** The consumer of a request, with the settings that it names. */
function shuffleConsumer(request) {
  return shuffleQueue(request).consumer(decoded(request.group), decoded(request.consumer), {
    preferStream: decoded(request.prefer_stream) ?? undefined,
    defaultStream: decoded(request.default_stream),
    maxDeliveries: decoded(request.max_deliveries)
  })
}

const SHUFFLE = {
  write: (request) =>
    shuffleQueue(request).write(decoded(request.shard_key), decoded(request.fields)),
  write_many: (request) => shuffleQueue(request).writeMany(decoded(request.messages)),
  write_tracked(request) {
    const given = [request.shard_key, request.fields, request.track_field].map(decoded)
    const deadline = decoded(request.deadline) ?? undefined
    return shuffleQueue(request).writeTracked(...given, { deadline })
  },
  write_tracked_many(request) {
    const given = [request.messages, request.track_field].map(decoded)
    const deadline = decoded(request.deadline) ?? undefined
    return shuffleQueue(request).writeTrackedMany(...given, { deadline })
  },
  resize: (request) => shuffleQueue(request).resize(decoded(request.streams)),
  delete_dead_letters: (request) => shuffleQueue(request).deleteDeadLetters(request.ids),
  delete_tracked: (request) => shuffleQueue(request).deleteTracked(decoded(request.value)),
  cordon: (request) => shuffleQueue(request).cordonDeadlineExceeded(milliseconds(request.within)),
  async gc(request) {
    const timeDigits = decoded(request.time_digits) ?? undefined
    const garbage = shuffleQueue(request).gc({ timeDigits })
    const seen = []
    for await (const values of garbage) seen.push(...values)
    return { scanned: garbage.scanned, deleted: garbage.deleted, seen }
  },
  async read(request) {
    const consumer = shuffleConsumer(request)
    const max = decoded(request.max)
    const options = { waitMs: milliseconds(request.block) ?? undefined }
    if (max !== 1) return (await consumer.readMany(max, options)).map(shown)
    const message = await consumer.read(options)
    return message === null ? [] : [shown(message)]
  },
  ack(request) {
    const consumer = shuffleConsumer(request)
    return request.delete
      ? consumer.ackAndDelete(request.receipts)
      : consumer.ack(request.receipts)
  },
  extend: (request) => shuffleConsumer(request).extend(request.receipts),
  async reclaim(request) {
    const consumer = shuffleConsumer(request)
    const idle = milliseconds(request.min_idle)
    const { messages, dead } = await consumer.reclaim(idle, decoded(request.max))
    return { messages: messages.map(shown), dead }
  },
  len: (request) => shuffleQueue(request).len(),
  backlog: (request) => shuffleQueue(request).backlog(),
  pending_count: (request) => shuffleQueue(request).pendingCount(decoded(request.group)),
  async stats(request) {
    const counts = ({ len, pending, lag }) => ({ len, pending, lag })
    const stats = await shuffleQueue(request).stats(decoded(request.group))
    return { ...counts(stats), streams: stats.streams.map(counts) }
  },
  async dead_letters(request) {
    const letters = await shuffleQueue(request).deadLetters(decoded(request.max))
    return letters.map((letter) => ({ ...letter, message: shown(letter.message) }))
  },
  shard: (request) =>
    shard(decoded(request.streams), decoded(request.streams_per_shard), decoded(request.key))
}

const TASKS = taskCalls({ perform: respond, attempt, Unsupported })

/** Makes a request later, while others are made. */
function later({ ms, request }) {
  const made = async () => {
    const { error, unsupported } = await respond(request)
    if (error || unsupported) console.error('later:', error?.message ?? unsupported)
  }
  setTimeout(made, ms)
  return null
}

/** Makes the call of one request. */
async function result(request) {
  const { call } = request
  if (call === 'open') {
    await client?.close()
    client = await connect(request.url, { returnBuffers: true })
    return null
  }
  if (call === 'close') return (await client.close()) ?? null
  const shuffle = SHUFFLE[call.replace(/^shuffle_/, '')]
  if (call.startsWith('shuffle_') && shuffle) return shuffle(request)
  if (call === 'later') return later(request)
  const tasks = TASKS[call.replace(/^tasks_/, '')]
  if (call.startsWith('tasks_') && tasks) {
    const store = client.tasks(request.store, { claimant: request.claimant ?? undefined })
    return tasks(store, asSaid(request))
  }
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

/** The response to one request. */
function respond(request) {
  return attempt(() => result(request))
}

async function attempt(call) {
  try {
    return { result: encoded(await call()) }
  } catch (error) {
    if (error instanceof Unsupported) return { unsupported: error.message }
    const wrongType = error.code === 'ERR_INVALID_ARG_TYPE' ? InvalidArgumentError : undefined
    if (!(error instanceof MillpondError || wrongType)) throw error
    const { number, code } = wrongType ?? error
    const failed = { code: number, name: code, message: error.message }
    if (error instanceof DependencyError) failed.dependency = dependency(error)
    return { error: failed }
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  // A deadline may be too long for a number of JavaScript.
  const request = JSON.parse(line.replace(/(?<!\\)("deadline":)(-?[0-9]{16,})/, '$1{"int":"$2"}'))
  process.stdout.write(`${JSON.stringify({ id: request.id, ...(await respond(request)) })}\n`)
}
await client?.close()
