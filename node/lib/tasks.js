'use strict'

const { count, isTrue } = require('./results.js')
const check = require('./arguments.js')
const { begin, unwrap } = require('./calls.js')
const { Claims } = require('./claims.js')
const { atOnce, madeBy } = require('./errors.js')
const { entriesOf, entriesOfOne, heldOf } = require('./modification.js')
const { TaskStore: Native } = require('./native.js')
const results = require('./task-results.js')
const { INSERT_OPTIONS, PUT_OPTIONS, names, texts, wholeNumber } = require('./task-arguments.js')
const { TaskWorker } = require('./task-worker.js')

const SIGNAL = { signal: check.abortSignal }
const LEASE = { leaseMs: check.milliseconds, ...SIGNAL }
const CLAIMS = { max: check.smallSize, waitMs: check.milliseconds, ...LEASE }
const FILTER = { exact: texts, prefixes: texts, limit: wholeNumber, ...SIGNAL }
const WORKER = {
  leaseMs: check.milliseconds,
  backoffMs: check.milliseconds,
  backoffMaxMs: check.milliseconds,
  maxAttempts: check.smallSize,
  maxClaims: check.smallSize,
  errorQueue: check.text,
  waitMs: check.milliseconds
}
const LIST = {
  after: position('atMs', 'id'),
  limit: wholeNumber,
  claimant: check.text,
  omitValues: check.flag,
  ...SIGNAL
}
const LIST_DOCS = {
  start: check.text,
  end: check.text,
  after: position('key', 'secondaryKey', 'id'),
  limit: wholeNumber,
  omitContents: check.flag,
  ...SIGNAL
}

/** Options that are checked with the rest of what is inserted or put. */
const INSERTED = { ...unchecked(INSERT_OPTIONS), ...SIGNAL }
const PUT = { ...unchecked(PUT_OPTIONS), ...SIGNAL }

const GET_DOC = { secondaryKey: check.text, ...SIGNAL }

/** Where a page begins: something that has these. */
function position(...parts) {
  return (argument, value) => {
    const found = {}
    for (const part of parts) {
      const take = part === 'atMs' ? wholeNumber : check.text
      const checked = take(`${argument}.${part}`, value?.[part])
      found[`after${part[0].toUpperCase()}${part.slice(1)}`] = checked
    }
    return found
  }
}

function unchecked(names) {
  return Object.fromEntries(names.map((name) => [name, (_, value) => value]))
}

class TaskStore {
  #native

  constructor(native) {
    this.#native = madeBy('tasks() of a client', native, Native)
  }

  get claimant() {
    return this.#native.claimant
  }

  async insert(queue, value, options) {
    const { signal, ...said } = check.options(options, INSERTED)
    const { texts, numbers } = entriesOfOne('inserts', { queue, value, ...said })
    const send = (number) => this.#native.modify(number, texts, numbers)
    return unwrap(await begin(signal, results.inserted, send))
  }

  async modify(modification, options) {
    const { signal } = check.options(options, SIGNAL)
    const { texts, numbers } = entriesOf(modification)
    const send = (number) => this.#native.modify(number, texts, numbers)
    return unwrap(await begin(signal, results.modified, send))
  }

  async claim(queues, options) {
    const { leaseMs, signal } = check.options(options, LEASE)
    const list = names('queues', queues)
    const send = (number) => this.#native.claim(number, list, leaseMs)
    return unwrap(await begin(signal, results.task, send))
  }

  async claimMany(queues, max, options) {
    const { leaseMs, signal } = check.options(options, LEASE)
    const list = names('queues', queues)
    const most = check.smallSize('max', max)
    const send = (number) => this.#native.claimMany(number, list, most, leaseMs)
    return unwrap(await begin(signal, results.tasks, send))
  }

  claims(queues, options) {
    const { signal, ...said } = check.options(options, CLAIMS)
    const list = names('queues', queues)
    return new Claims(atOnce(() => this.#native.claims(list, said)), signal)
  }

  worker(queues, options) {
    const said = check.options(options, WORKER)
    return new TaskWorker(this.#native, names('queues', queues), said)
  }

  async renew(held, options) {
    const { leaseMs, signal } = check.options(options, LEASE)
    const { texts, numbers } = heldOf(held)
    const send = (number) => this.#native.renew(number, texts, numbers, leaseMs)
    return unwrap(await begin(signal, results.renewed, send))
  }

  async fetch(ids, options) {
    const { signal } = check.options(options, SIGNAL)
    const list = texts('ids', ids)
    return unwrap(await begin(signal, results.tasks, (number) => this.#native.fetch(number, list)))
  }

  async list(queue, options) {
    const { after, signal, ...said } = check.options(options, LIST)
    const query = { ...said, ...after }
    check.text('queue', queue)
    const send = (number) => this.#native.list(number, queue, query)
    return unwrap(await begin(signal, results.taskPage, send))
  }

  async queues(options) {
    const { signal, ...filter } = check.options(options, FILTER)
    const send = (number) => this.#native.queues(number, filter)
    return unwrap(await begin(signal, results.sizes, send))
  }

  async areEmpty(options) {
    const { signal, ...filter } = check.options(options, FILTER)
    return unwrap(await begin(signal, isTrue, (number) => this.#native.areEmpty(number, filter)))
  }

  async queueStats(options) {
    const { signal, ...filter } = check.options(options, FILTER)
    const send = (number) => this.#native.queueStats(number, filter)
    return unwrap(await begin(signal, results.queueStats, send))
  }

  async claimDocs(namespace, key, options) {
    const { leaseMs, signal } = check.options(options, LEASE)
    const names = [check.text('namespace', namespace), check.text('key', key)]
    const send = (number) => this.#native.claimDocs(number, ...names, leaseMs)
    return unwrap(await begin(signal, results.docs, send))
  }

  async getDoc(namespace, key, options) {
    const { secondaryKey, signal } = check.options(options, GET_DOC)
    const names = [check.text('namespace', namespace), check.text('key', key)]
    const send = (number) => this.#native.getDoc(number, ...names, secondaryKey)
    return unwrap(await begin(signal, results.doc, send))
  }

  async putDoc(namespace, key, content, options) {
    const { signal, ...said } = check.options(options, PUT)
    const { texts, numbers } = entriesOfOne('docPuts', { namespace, key, content, ...said })
    const send = (number) => this.#native.modify(number, texts, numbers)
    return unwrap(await begin(signal, results.putDoc, send))
  }

  async fetchDocs(namespace, ids, options) {
    const { signal } = check.options(options, SIGNAL)
    check.text('namespace', namespace)
    const list = texts('ids', ids)
    const send = (number) => this.#native.fetchDocs(number, namespace, list)
    return unwrap(await begin(signal, results.docs, send))
  }

  async listDocs(namespace, options) {
    const { after, signal, ...said } = check.options(options, LIST_DOCS)
    const query = { ...said, ...after }
    check.text('namespace', namespace)
    const send = (number) => this.#native.listDocs(number, namespace, query)
    return unwrap(await begin(signal, results.docPage, send))
  }

  async namespaceStats(options) {
    const { signal, ...filter } = check.options(options, FILTER)
    const send = (number) => this.#native.namespaceStats(number, filter)
    return unwrap(await begin(signal, results.namespaceStats, send))
  }

  async time(options) {
    const { signal } = check.options(options, SIGNAL)
    return unwrap(await begin(signal, count, (number) => this.#native.time(number)))
  }
}

module.exports = { TaskStore }
