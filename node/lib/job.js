'use strict'

const { wrongType } = require('./errors.js')
const handles = require('./generated/handles.js')
const { task } = require('./generated/records.js')
const { lostSignal, nativeOf } = require('./handle.js')
const { deleting } = require('./modification.js')

class Job extends handles.Job {
  constructor(native, task) {
    super(native)
    this.task = task
  }

  get handle() {
    return { id: this.task.id, version: nativeOf(this).version ?? this.task.version }
  }

  get signal() {
    return lostSignal('lease of the task', this)
  }

  delete(...given) {
    if (given.length > 0) {
      throw wrongType('delete() takes no argument: what goes with it is { ...job.delete(), inserts: [...] }')
    }
    return deleting(this.handle)
  }

  leave() {
    nativeOf(this).leave()
  }

  async [Symbol.asyncDispose]() {
    this.leave()
  }
}

function readJob(reader) {
  const found = task(reader)
  return new Job(reader.one(), found)
}

module.exports = { Job, readJob }
