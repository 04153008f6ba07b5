'use strict'

const { count, entries } = require('./answers.js')
const check = require('./arguments.js')
const { begin, unwrap } = require('./calls.js')
const { madeBy } = require('./errors.js')
const { Batches: Native } = require('./native.js')
const { Questions } = require('./questions.js')

const SIGNAL = { signal: check.abortSignal }
/** The options of a loop. */
const BATCHES = { waitMs: check.milliseconds, ...SIGNAL }

class Batches {
  #native
  #questions

  /** A lease that is collected as garbage is given back, so a holder's loop keeps its lease. */
  constructor(native, signal, lease) {
    this.#native = madeBy('batches()', native, Native)
    this.#questions = new Questions(native, signal, entries, 'own batches', lease)
  }

  [Symbol.asyncIterator]() {
    return this
  }

  async next() {
    return this.#questions.next()
  }

  async return(value) {
    return this.#questions.end(value)
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
