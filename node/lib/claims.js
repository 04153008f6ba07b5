'use strict'

const { madeBy } = require('./errors.js')
const { Claims: Native } = require('./native.js')
const { Requests } = require('./requests.js')
const { tasks } = require('./task-results.js')

class Claims {
  #native
  #requests

  constructor(native, signal) {
    this.#native = madeBy('claims() of a TaskStore', native, Native)
    this.#requests = new Requests(native, signal, tasks, 'their own claims')
  }

  [Symbol.asyncIterator]() {
    return this
  }

  async next() {
    return this.#requests.next()
  }

  async return(value) {
    const ended = this.#requests.end(value)
    this.#native.end()
    return ended
  }

  async [Symbol.asyncDispose]() {
    await this.return()
  }
}

module.exports = { Claims }
