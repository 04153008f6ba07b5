'use strict'

const { madeBy } = require('./errors.js')
const { Messages: Native } = require('./native.js')
const { Requests } = require('./requests.js')
const { batch } = require('./shuffle-results.js')

class Messages {
  #requests

  constructor(native, signal) {
    const made = madeBy('messages() of a ShuffleConsumer', native, Native)
    this.#requests = new Requests(made, signal, batch, 'their own messages')
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

  async [Symbol.asyncDispose]() {
    await this.return()
  }
}

module.exports = { Messages }
