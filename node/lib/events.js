'use strict'

const check = require('./arguments.js')
const { begin, unwrap } = require('./calls.js')
const { atOnce } = require('./errors.js')
const { newEvent } = require('./event-arguments.js')
const { EventWorker } = require('./event-worker.js')
const { SIGNAL, read, ...handles } = require('./generated/handles.js')
const kinds = require('./generated/options.js')
const { made } = require('./generated/records.js')
const { nativeOf } = require('./handle.js')
const { of } = require('./reader.js')
const { stepsOf } = require('./task-arguments.js')

/** Checked with the rest of the event. */
const PUBLISH = Object.fromEntries(Object.keys(kinds.newEvent).map((name) => [name, (_, value) => value]))

/** A command whose name is a string, because clients inspect it. */
const command = of((reader) => {
  const [name, ...args] = reader.some(() => reader.one())
  return [name.toString(), ...args]
})

/** An event to publish, and the signal of the call. */
function given(payload, options) {
  const { signal, ...said } = check.options(options, { ...PUBLISH, ...SIGNAL })
  return [signal, newEvent(payload, said)]
}

class EventQueue extends handles.EventQueue {
  async publish(payload, options) {
    const [signal, event] = given(payload, options)
    const send = (number) => nativeOf(this).publishMany(number, event)
    return unwrap(await begin(signal, read.publishedList, send))[0]
  }

  async publishCall(payload, options) {
    const [signal, event] = given(payload, options)
    const send = (number) => nativeOf(this).publishCall(number, event)
    return unwrap(await begin(signal, command, send))
  }

  worker(options) {
    const said = check.options(options, { concurrency: check.smallSize, ...kinds.eventWorker })
    const steps = stepsOf({ concurrency: 10, ...said })
    return new EventWorker(atOnce(() => nativeOf(this).worker(steps)), said.timeoutMs)
  }
}

made.EventQueue = EventQueue

module.exports = { EventQueue }
