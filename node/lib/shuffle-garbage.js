'use strict'

const { madeBy } = require('./errors.js')
const { Garbage: Native } = require('./native.js')
const { Requests } = require('./requests.js')
const { values } = require('./shuffle-results.js')

class Garbage {
  #native
  #requests

  constructor(native, signal) {
    this.#native = madeBy('gc() of a ShuffleQueue', native, Native)
    this.#requests = new Requests(native, signal, values, 'their own collection')
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
    return this.#requests.next()
  }

  async return(value) {
    return this.#requests.end(value)
  }

  async [Symbol.asyncDispose]() {
    await this.return()
  }
}

module.exports = { Garbage }
