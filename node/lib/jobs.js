'use strict'

const { madeBy } = require('./errors.js')
const { Job } = require('./job.js')
const { Jobs: Native } = require('./native.js')
const { Requests } = require('./requests.js')
const { taskAndJob } = require('./task-results.js')

class Jobs {
  #native
  #requests

  constructor(native, signal) {
    this.#native = madeBy('jobs() of a TaskWorker', native, Native)
    this.#requests = new Requests(native, signal, job, 'their own jobs')
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

function job(list) {
  const found = taskAndJob(list)
  return found === null ? null : new Job(found.native, found.task)
}

module.exports = { Jobs }
