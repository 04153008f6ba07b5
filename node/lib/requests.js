'use strict'

const { begin, giveUp, unwrap } = require('./calls.js')
const { invalid } = require('./errors.js')

/**
 * The requests of a loop for its next batch, one at a time, until one returns null. `read` makes a
 * batch of the native half's result; `own` is what concurrent callers need, and `kept` what must
 * not become garbage before the loop does.
 */
class Requests {
  #native
  #signal
  #read
  #own
  #kept
  #number
  #isRequested = false
  #isOver = false

  constructor(native, signal, read, own, kept) {
    this.#native = native
    this.#signal = signal
    this.#read = read
    this.#own = own
    this.#kept = kept
  }

  async next() {
    if (this.#isOver) return { done: true, value: undefined }
    if (this.#isRequested) {
      throw invalid(`a batch was requested already; concurrent callers need ${this.#own}`)
    }
    this.#isRequested = true
    const send = (number) => {
      this.#number = number
      return this.#native.next(number)
    }
    const batch = await begin(this.#signal, this.#read, send, this)
    this.#isRequested = false
    // An error does not end the loop: the next request continues it, if a retry can help.
    if (unwrap(batch) !== null) return { done: false, value: batch }
    this.#isOver = true
    return { done: true, value: undefined }
  }

  /** Ends the loop, and the request that is under way. */
  end(value) {
    this.#isOver = true
    giveUp(this.#number, this)
    return { done: true, value }
  }
}

module.exports = { Requests }
