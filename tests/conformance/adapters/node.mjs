// The adapter for Node: one JSON request per line in, one JSON response per line out.

import readline from 'node:readline'

import * as millpond from '../../../node/index.mjs'
import { workerCalls } from './node_jobs.mjs'
import { Noted } from './node_recruiter.mjs'
import { called as calledTracker } from './node_tracker.mjs'
import { encoded, made, Unsupported } from './node_values.mjs'

const { connect, DependencyError, InvalidArgumentError, MillpondError, TaskStore } = millpond
const WORKER = workerCalls({ perform: respond, attempt })

let client
/** By their names as JSON, until the client is closed. */
const recruiters = new Map()

/** Makes a request later, while others are made. */
function later({ ms, request }) {
  const made = async () => {
    const { error, unsupported } = await respond(request)
    if (error || unsupported) console.error('later:', error?.message ?? unsupported)
  }
  setTimeout(made, ms)
  return null
}

/** The recruiter with a name. */
function recruiter(given) {
  const name = JSON.stringify(given.name)
  if (!recruiters.has(name)) recruiters.set(name, new Noted(made(client, 'recruiter', given), respond))
  return recruiters.get(name)
}

/** Makes one call. */
function called(on, call, given) {
  if (call === 'recruiter') return recruiter(given)
  if (on instanceof Noted) return on.called(call, given)
  if (call === 'scan' || call === 'prune') return calledTracker(on, call, given)
  if (call in WORKER) return WORKER[call](on, given.jobs)
  if (call === 'shard') return made(millpond, call, given)
  // The jobs of a request are worked on one after the other.
  if (call === 'worker') return made(on, call, { concurrency: 1, ...given })
  if (call !== 'renew' || !(on instanceof TaskStore)) return made(on, call, given)
  const { tasks, docs, ...rest } = given
  return made(on, call, { held: { tasks, docs }, ...rest })
}

/** What a call returns; of a loop the first batch, and of a collection of garbage all of them. */
async function gathered(found) {
  if (found instanceof Map) return [...found]
  if (typeof found?.[Symbol.asyncIterator] !== 'function') return found
  if ('scanned' in found) {
    const seen = []
    for await (const values of found) seen.push(...values)
    return { scanned: found.scanned, deleted: found.deleted, seen }
  }
  for await (const batch of found) return batch
  return []
}

/** Makes the calls of one request, each on what the one before it returned. */
async function result(request) {
  if (request.calls) {
    let found = client
    for (const [call, given] of request.calls) found = await called(found, call, given)
    return (await gathered(found)) ?? null
  }
  if (request.call === 'open') {
    recruiters.clear()
    await client?.close()
    client = await connect(request.url, { returnBuffers: true })
    return null
  }
  if (request.call === 'close') {
    recruiters.clear()
    return (await client.close()) ?? null
  }
  if (request.call === 'later') return later(request)
  throw new Unsupported(`the call ${request.call} is not known`)
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

/** What a modification met, as a response has it. */
function dependency(error) {
  const found = {}
  for (const name of ['inserts', 'changes', 'deletes', 'depends', 'claims']) {
    found[name] = error[name].map(({ id, version }) => [id, version])
    const docs = error[`doc${name[0].toUpperCase()}${name.slice(1)}`]
    found[`doc_${name}`] = docs.map(({ namespace, id, version }) => [namespace, id, version])
  }
  return found
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  // A deadline may be too long for a number of JavaScript.
  const request = JSON.parse(line.replace(/(?<!\\)("deadline":)(-?[0-9]{16,})/, '$1{"int":"$2"}'))
  process.stdout.write(`${JSON.stringify({ id: request.id, ...(await respond(request)) })}\n`)
}
await client?.close()
