'use strict'

const { madeBy } = require('./errors.js')
const { Claims: Native } = require('./native.js')
const { Questions } = require('./questions.js')
const { batch } = require('./task-answers.js')

class Claims {
  #native
  #questions

  constructor(native, signal) {
    this.#native = madeBy('claims() of a TaskStore', native, Native)
    this.#questions = new Questions(native, signal, batch, 'own claims')
  }

  [Symbol.asyncIterator]() {
    return this
  }

  async next() {
    return this.#questions.next()
  }

  async return(value) {
    const ended = this.#questions.end(value)
    this.#native.end()
    return ended
  }

  async [Symbol.asyncDispose]() {
    await this.return()
  }
}

module.exports = { Claims }
