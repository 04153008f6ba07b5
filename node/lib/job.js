'use strict'

const handles = require('./generated/handles.js')
const { lostSignal, nativeOf } = require('./handle.js')
const { deleting } = require('./modification.js')

class Job extends handles.Job {
  #signal

  constructor(native, task) {
    super(native)
    this.task = task
  }

  get handle() {
    return { id: this.task.id, version: nativeOf(this).version ?? this.task.version }
  }

  get signal() {
    this.#signal ??= lostSignal('task', this)
    return this.#signal
  }

  delete() {
    return deleting(this.handle)
  }

  leave() {
    nativeOf(this).leave()
  }

  async [Symbol.asyncDispose]() {
    this.leave()
  }
}

module.exports = { Job }
