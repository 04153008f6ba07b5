'use strict'

const check = require('./arguments.js')
const { begin, unwrap } = require('./calls.js')
const { madeBy } = require('./errors.js')
const { lostSignal } = require('./lost.js')
const { deleting, entriesOf } = require('./modification.js')
const { Job: Native } = require('./native.js')
const results = require('./task-results.js')

const SIGNAL = { signal: check.abortSignal }
const DELAY = { delayMs: check.milliseconds, ...SIGNAL }
const WAIT = { waitMs: check.milliseconds, ...SIGNAL }

class Job {
  #native
  #signal
  #isEnded = false

  constructor(native, task) {
    this.#native = madeBy('jobs() of a TaskWorker', native, Native)
    this.task = task
  }

  get handle() {
    return { id: this.task.id, version: this.#native.version ?? this.task.version }
  }

  get isLost() {
    return this.#native.isLost
  }

  get isEnded() {
    return this.#isEnded
  }

  get signal() {
    this.#signal ??= lostSignal('task', (number) => this.#native.lost(number))
    return this.#signal
  }

  delete() {
    return deleting(this.handle)
  }

  async claimDocs(namespace, key, options) {
    const { waitMs, signal } = check.options(options, WAIT)
    const names = [check.text('namespace', namespace), check.text('key', key)]
    const send = (number) => this.#native.claimDocs(number, ...names, waitMs)
    return unwrap(await begin(signal, results.docs, send))
  }

  async finish(modification, options) {
    const { signal } = check.options(options, SIGNAL)
    const { texts, numbers } = entriesOf(modification)
    return this.#end(signal, (number) => this.#native.finish(number, texts, numbers))
  }

  async done(options) {
    const { signal } = check.options(options, SIGNAL)
    return this.#end(signal, (number) => this.#native.done(number))
  }

  async fail(err = '', options = undefined) {
    const { signal } = check.options(options, SIGNAL)
    check.text('err', err)
    return this.#end(signal, (number) => this.#native.fail(number, err))
  }

  async retry(err = '', options = undefined) {
    const { delayMs, signal } = check.options(options, DELAY)
    check.text('err', err)
    return this.#end(signal, (number) => this.#native.retry(number, err, delayMs))
  }

  async moveTo(queue, err = '', options = undefined) {
    const { signal } = check.options(options, SIGNAL)
    const texts = [check.text('queue', queue), check.text('err', err)]
    return this.#end(signal, (number) => this.#native.moveTo(number, ...texts))
  }

  async release(options) {
    const { delayMs, signal } = check.options(options, DELAY)
    return this.#end(signal, (number) => this.#native.release(number, delayMs))
  }

  leave() {
    this.#isEnded = true
    this.#native.leave()
  }

  async [Symbol.asyncDispose]() {
    this.leave()
  }

  async #end(signal, send) {
    const done = unwrap(await begin(signal, results.modified, send))
    this.#isEnded = true
    return done
  }
}

module.exports = { Job }
