'use strict'

const check = require('./arguments.js')
const { begin, unwrap } = require('./calls.js')
const { atOnce } = require('./errors.js')
const { SIGNAL, read, ...handles } = require('./generated/handles.js')
const kinds = require('./generated/options.js')
const { doc, made, renewed } = require('./generated/records.js')
const { nativeOf } = require('./handle.js')
const { entriesOfOne, heldOf } = require('./modification.js')
const { of } = require('./reader.js')
const { INSERT_OPTIONS, PUT_OPTIONS, stepsOf } = require('./task-arguments.js')
const { TaskWorker } = require('./task-worker.js')

const LEASE = { leaseMs: check.milliseconds, ...SIGNAL }
const GET_DOC = { secondaryKey: check.text, ...SIGNAL }
/** Options that are checked with the rest of what is inserted or put. */
const INSERTED = { ...unchecked(INSERT_OPTIONS), ...SIGNAL }
const PUT = { ...unchecked(PUT_OPTIONS), ...SIGNAL }
const readDoc = of((reader) => reader.maybe(doc))
const readRenewed = of(renewed)

function unchecked(names) {
  return Object.fromEntries(names.map((name) => [name, (_, value) => value]))
}

class TaskStore extends handles.TaskStore {
  get claimant() {
    return nativeOf(this).claimant
  }

  /** The task; null if it was skipped. */
  async insert(queue, value, options) {
    const { signal, ...said } = check.options(options, INSERTED)
    const one = entriesOfOne('inserts', { queue, value, ...said })
    const send = (number) => nativeOf(this).modify(number, one)
    return unwrap(await begin(signal, read.modified, send)).inserted[0] ?? null
  }

  worker(queues, options) {
    const said = check.options(options, kinds.taskWorker)
    const given = [check.names('queues', queues), stepsOf({ concurrency: 10, ...said })]
    return new TaskWorker(atOnce(() => nativeOf(this).worker(...given)), said.timeoutMs)
  }

  async renew(held, options) {
    const { leaseMs = check.limits.tasks.LEASE_DEFAULT, signal } = check.options(options, LEASE)
    const entries = heldOf(held)
    const send = (number) => nativeOf(this).renew(number, entries, leaseMs)
    return unwrap(await begin(signal, readRenewed, send))
  }

  async getDoc(namespace, key, options) {
    const { secondaryKey = '', signal } = check.options(options, GET_DOC)
    const names = [check.text('namespace', namespace), check.text('key', key)]
    const send = (number) => nativeOf(this).getDoc(number, ...names, secondaryKey)
    return unwrap(await begin(signal, readDoc, send))
  }

  async putDoc(namespace, key, content, options) {
    const { signal, ...said } = check.options(options, PUT)
    const one = entriesOfOne('docPuts', { namespace, key, content, ...said })
    const send = (number) => nativeOf(this).modify(number, one)
    return unwrap(await begin(signal, read.modified, send)).insertedDocs[0]
  }
}

made.TaskStore = TaskStore

module.exports = { TaskStore }
