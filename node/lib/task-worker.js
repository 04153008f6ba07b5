'use strict'

const check = require('./arguments.js')
const { nativeOf } = require('./handle.js')
const { readJob } = require('./job.js')
const { Jobs } = require('./loops.js')
const { pushModification } = require('./modification.js')
const native = require('./native.js')
const { Worker } = require('./worker.js')

const SIGNAL = { signal: check.abortSignal }
const KIND = {
  job: readJob,
  name: ({ task }) => `task ${task.id} of queue ${task.queue}`,
  finish: pushModification
}

class TaskWorker extends Worker {
  constructor(made, timeoutMs) {
    super(made, native.TaskWorker, 'worker() of a TaskStore', KIND, timeoutMs)
  }

  jobs(options) {
    const { signal } = check.options(options, SIGNAL)
    return new Jobs(nativeOf(this).jobs(), signal)
  }
}

module.exports = { TaskWorker }
