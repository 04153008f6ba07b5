'use strict'

const { ShuffleJob: Base } = require('./generated/handles.js')
const { made } = require('./generated/records.js')
const { lostSignal } = require('./handle.js')
const { refuseModification } = require('./modification.js')
const native = require('./native.js')
const { Worker } = require('./worker.js')

class ShuffleJob extends Base {
  constructor(native, message) {
    super(native)
    this.message = message
  }

  get signal() {
    return lostSignal('lease of the message', this)
  }
}

const KIND = {
  job(reader) {
    const message = made.message(reader)
    return new ShuffleJob(reader.one(), message)
  },
  name: ({ message }) => `message ${message.id}`,
  // For any other return value of the handler, the message is done.
  finish: (value) => refuseModification(value, 'a message ends without one')
}

class ShuffleWorker extends Worker {
  constructor(made, timeoutMs) {
    super(made, native.ShuffleWorker, 'worker() of a ShuffleConsumer', KIND, timeoutMs)
  }
}

module.exports = { ShuffleJob, ShuffleWorker }
