'use strict'

const { count, entries } = require('./answers.js')
const check = require('./arguments.js')
const { begin, giveUp, unwrap } = require('./calls.js')
const { invalid, madeBy } = require('./errors.js')
const { Batches: Native } = require('./native.js')

const SIGNAL = { signal: check.abortSignal }
/** The options of a loop. */
const BATCHES = { waitMs: check.milliseconds, ...SIGNAL }

class Batches {
  #native
  #signal
  #lease
  #number
  #isAsking = false
  #isOver = false

  /** A lease that is collected as garbage is given back, so a holder's loop keeps its lease. */
  constructor(native, signal, lease) {
    this.#native = madeBy('batches()', native, Native)
    this.#signal = signal
    this.#lease = lease
  }

  [Symbol.asyncIterator]() {
    return this
  }

  async next() {
    if (this.#isOver) return { done: true, value: undefined }
    if (this.#isAsking) {
      throw invalid('a batch was asked for already; whoever works at once needs own batches')
    }
    this.#isAsking = true
    const send = (number) => {
      this.#number = number
      return this.#native.next(number)
    }
    const batch = await begin(this.#signal, entries, send, this)
    this.#isAsking = false
    // An error does not end the loop: the next question goes on, if going on can help.
    if (unwrap(batch) !== null) return { done: false, value: batch }
    this.#isOver = true
    return { done: true, value: undefined }
  }

  async return(value) {
    this.#isOver = true
    giveUp(this.#number, this)
    return { done: true, value }
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
