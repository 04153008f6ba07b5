'use strict'

const { madeBy } = require('./errors.js')
const { Garbage: Native } = require('./native.js')
const { Questions } = require('./questions.js')
const { values } = require('./shuffle-answers.js')

class Garbage {
  #native
  #questions

  constructor(native, signal) {
    this.#native = madeBy('gc() of a ShuffleQueue', native, Native)
    this.#questions = new Questions(native, signal, values, 'an own collection')
  }

  get scanned() {
    return this.#native.scanned
  }

  get deleted() {
    return this.#native.deleted
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

module.exports = { Garbage }
