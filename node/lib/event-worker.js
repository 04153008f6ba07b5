'use strict'

const { EventJob: Base } = require('./generated/handles.js')
const { event } = require('./generated/records.js')
const { lostSignal } = require('./handle.js')
const { refuseModification } = require('./modification.js')
const native = require('./native.js')
const { Worker } = require('./worker.js')

class EventJob extends Base {
  constructor(native, event) {
    super(native)
    this.event = event
  }

  get signal() {
    return lostSignal('lease of the event', this)
  }
}

const KIND = {
  job(reader) {
    const found = event(reader)
    return new EventJob(reader.one(), found)
  },
  name: ({ event }) => `event ${event.id} (attempt ${event.attempts})`,
  // For any other return value of the handler, the event is done.
  finish: (value) => refuseModification(value, 'an event ends without one: publish what follows from it with `ackWith`')
}

class EventWorker extends Worker {
  constructor(made, timeoutMs) {
    super(made, native.EventWorker, 'worker() of an EventQueue', KIND, timeoutMs)
  }
}

module.exports = { EventJob, EventWorker }
