'use strict'

const { count, entries } = require('./results.js')
const check = require('./arguments.js')
const { begin, unwrap } = require('./calls.js')
const { madeBy } = require('./errors.js')
const { Batches: Native } = require('./native.js')
const { Requests } = require('./requests.js')

const SIGNAL = { signal: check.abortSignal }
/** The options of a loop. */
const BATCHES = { waitMs: check.milliseconds, ...SIGNAL }

class Batches {
  #native
  #requests

  /**
   * A lease that is garbage-collected is released, so a holder's loop keeps a reference to its
   * lease.
   */
  constructor(native, signal, lease) {
    this.#native = madeBy('batches()', native, Native)
    this.#requests = new Requests(native, signal, entries, 'their own batches', lease)
  }

  [Symbol.asyncIterator]() {
    return this
  }

  async next() {
    return this.#requests.next()
  }

  async return(value) {
    return this.#requests.end(value)
  }

  async commit(options) {
    const { signal } = check.options(options, SIGNAL)
    return unwrap(await begin(signal, count, (number) => this.#native.commit(number)))
  }

  async [Symbol.asyncDispose]() {
    await this.return()
  }
}

module.exports = { Batches, BATCHES }
