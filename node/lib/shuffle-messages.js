'use strict'

const { madeBy } = require('./errors.js')
const { Messages: Native } = require('./native.js')
const { Questions } = require('./questions.js')
const { batch } = require('./shuffle-answers.js')

class Messages {
  #questions

  constructor(native, signal) {
    const made = madeBy('messages() of a ShuffleConsumer', native, Native)
    this.#questions = new Questions(made, signal, batch, 'own messages')
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

  async [Symbol.asyncDispose]() {
    await this.return()
  }
}

module.exports = { Messages }
