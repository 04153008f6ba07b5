'use strict'

const { count, isTrue } = require('./results.js')
const check = require('./arguments.js')
const { begin, unwrap } = require('./calls.js')
const { Claims } = require('./claims.js')
const { atOnce, madeBy } = require('./errors.js')
const kinds = require('./generated/options.js')
const { entriesOf, entriesOfOne, heldOf } = require('./modification.js')
const { TaskStore: Native } = require('./native.js')
const results = require('./task-results.js')
const { INSERT_OPTIONS, PUT_OPTIONS, names, stepsOf, texts } = require('./task-arguments.js')
const { TaskWorker } = require('./task-worker.js')

const SIGNAL = { signal: check.abortSignal }
const LEASE = { leaseMs: check.milliseconds, ...SIGNAL }
const CLAIMS = { ...kinds.claims, ...SIGNAL }
const FILTER = { exact: texts, prefixes: texts, ...kinds.filter, ...SIGNAL }
const WORKER = { ...kinds.worker, backoffMs: check.milliseconds, backoffMaxMs: check.milliseconds }
const LIST = { after: position('atMs', 'id'), ...kinds.taskQuery, ...SIGNAL }
const LIST_DOCS = { after: position('key', 'secondaryKey', 'id'), ...kinds.docQuery, ...SIGNAL }
/** Options that are checked with the rest of what is inserted or put. */
const INSERTED = { ...unchecked(INSERT_OPTIONS), ...SIGNAL }
const PUT = { ...unchecked(PUT_OPTIONS), ...SIGNAL }

const GET_DOC = { secondaryKey: check.text, ...SIGNAL }

/** Where a page begins: something that has these. */
function position(...parts) {
  return (argument, value) =>
    parts.map((part) => {
      const take = part === 'atMs' ? check.wholeNumber : check.text
      return take(`${argument}.${part}`, value?.[part])
    })
}

function filterOf({ exact = [], prefixes = [], ...said }) {
  const names = exact.map((name) => ['exact', name])
  return stepsOf(said, [...names, ...prefixes.map((prefix) => ['prefix', prefix])])
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
    const { texts, numbers } = stepsOf(said)
    return new Claims(atOnce(() => this.#native.claims(list, texts, numbers)), signal)
  }

  worker(queues, options) {
    const { backoffMs, backoffMaxMs, ...said } = check.options(options, WORKER)
    const { backoffMs: first, backoffMaxMs: most } = check.limits
    const isGiven = backoffMs !== undefined || backoffMaxMs !== undefined
    const backoff = ['backoff', backoffMs ?? first, backoffMaxMs ?? most]
    return new TaskWorker(this.#native, names('queues', queues), stepsOf(said, isGiven ? [backoff] : []))
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
    const { signal, ...said } = check.options(options, LIST)
    const { texts, numbers } = stepsOf(said)
    check.text('queue', queue)
    const send = (number) => this.#native.list(number, queue, texts, numbers)
    return unwrap(await begin(signal, results.taskPage, send))
  }

  async queues(options) {
    const { signal, ...said } = check.options(options, FILTER)
    const { texts, numbers } = filterOf(said)
    const send = (number) => this.#native.queues(number, texts, numbers)
    return unwrap(await begin(signal, results.sizes, send))
  }

  async areEmpty(options) {
    const { signal, ...said } = check.options(options, FILTER)
    const { texts, numbers } = filterOf(said)
    const send = (number) => this.#native.areEmpty(number, texts, numbers)
    return unwrap(await begin(signal, isTrue, send))
  }

  async queueStats(options) {
    const { signal, ...said } = check.options(options, FILTER)
    const { texts, numbers } = filterOf(said)
    const send = (number) => this.#native.queueStats(number, texts, numbers)
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
    const { signal, ...said } = check.options(options, LIST_DOCS)
    const { texts, numbers } = stepsOf(said)
    check.text('namespace', namespace)
    const send = (number) => this.#native.listDocs(number, namespace, texts, numbers)
    return unwrap(await begin(signal, results.docPage, send))
  }

  async namespaceStats(options) {
    const { signal, ...said } = check.options(options, FILTER)
    const { texts, numbers } = filterOf(said)
    const send = (number) => this.#native.namespaceStats(number, texts, numbers)
    return unwrap(await begin(signal, results.namespaceStats, send))
  }

  async time(options) {
    const { signal } = check.options(options, SIGNAL)
    return unwrap(await begin(signal, count, (number) => this.#native.time(number)))
  }
}

module.exports = { TaskStore }
