'use strict'

const { begin, giveUp, unwrap } = require('./calls.js')
const { invalid } = require('./errors.js')

/**
 * The questions of a loop for its next batch, one at a time, until one is answered by null. `read`
 * makes a batch of the native half's answer; `own` is what two who ask at once need, and `kept`
 * what must not become garbage before the loop does.
 */
class Questions {
  #native
  #signal
  #read
  #own
  #kept
  #number
  #isAsking = false
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
    if (this.#isAsking) {
      throw invalid(`a batch was asked for already; whoever works at once needs ${this.#own}`)
    }
    this.#isAsking = true
    const send = (number) => {
      this.#number = number
      return this.#native.next(number)
    }
    const batch = await begin(this.#signal, this.#read, send, this)
    this.#isAsking = false
    // An error does not end the loop: the next question goes on, if going on can help.
    if (unwrap(batch) !== null) return { done: false, value: batch }
    this.#isOver = true
    return { done: true, value: undefined }
  }

  /** Ends the loop, and the question that is under way. */
  end(value) {
    this.#isOver = true
    giveUp(this.#number, this)
    return { done: true, value }
  }
}

module.exports = { Questions }
