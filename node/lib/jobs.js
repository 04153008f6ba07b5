'use strict'

const { madeBy } = require('./errors.js')
const { Job } = require('./job.js')
const { Jobs: Native } = require('./native.js')
const { Questions } = require('./questions.js')
const { taskAndJob } = require('./task-answers.js')

class Jobs {
  #native
  #questions

  constructor(native, signal) {
    this.#native = madeBy('jobs() of a TaskWorker', native, Native)
    this.#questions = new Questions(native, signal, job, 'own jobs')
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

function job(list) {
  const found = taskAndJob(list)
  return found === null ? null : new Job(found.native, found.task)
}

module.exports = { Jobs }
