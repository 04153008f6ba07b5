'use strict'

const check = require('./arguments.js')
const { begin, giveUp, unwrap } = require('./calls.js')
const { invalid } = require('./errors.js')
const { event, made, task } = require('./generated/records.js')
const { Handle, nativeOf } = require('./handle.js')
const { readJob } = require('./job.js')
const Native = require('./native.js')
const { of, ofBytes } = require('./reader.js')
const { count, entries } = require('./results.js')

const SIGNAL = { signal: check.abortSignal }

const tasks = of((reader) => reader.some(task))
const job = of(readJob)
const events = of((reader) => reader.some(event))
const messages = ofBytes((reader) => reader.some(made.message))
const values = of((reader) => reader.some(() => reader.one()))

/** Requests the next batch, one at a time, until there is none. */
class Loop extends Handle {
  #signal
  #read
  #own
  #kept
  #number
  #isRequested = false
  #isOver = false

  /**
   * `read` makes a batch from the native half's result. `own` is what concurrent callers need. `kept` must not be
   * garbage-collected before the loop, because a lease that is collected is released.
   */
  constructor(native, Kind, method, { read, own, signal, kept }) {
    super(native, Kind, method)
    this.#signal = signal
    this.#read = read
    this.#own = own
    this.#kept = kept
  }

  [Symbol.asyncIterator]() {
    return this
  }

  async next() {
    if (this.#isOver) return { done: true, value: undefined }
    if (this.#isRequested) {
      throw invalid(`a batch was requested already; concurrent callers need ${this.#own}`)
    }
    this.#isRequested = true
    const send = (number) => {
      this.#number = number
      return nativeOf(this).next(number)
    }
    const batch = await begin(this.#signal, this.#read, send, this)
    this.#isRequested = false
    // An error does not end the loop: the next request continues it, if a retry can help.
    if (unwrap(batch) !== null) return { done: false, value: batch }
    this.#isOver = true
    return { done: true, value: undefined }
  }

  /** Ends the loop, and the request that is in progress. */
  async return(value) {
    this.#isOver = true
    giveUp(this.#number, this)
    // A batch that no caller has received; for some loops the last batch can still be committed.
    nativeOf(this).end?.()
    return { done: true, value }
  }

  async [Symbol.asyncDispose]() {
    await this.return()
  }
}

class Batches extends Loop {
  constructor(native, signal, kept) {
    const loop = { read: entries, own: 'their own batches', signal, kept }
    super(native, Native.Batches, 'batches()', loop)
  }

  async commit(options) {
    const { signal } = check.options(options, SIGNAL)
    return unwrap(await begin(signal, count, (number) => nativeOf(this).commit(number)))
  }
}

class Messages extends Loop {
  constructor(native, signal) {
    const loop = { read: messages, own: 'their own messages', signal }
    super(native, Native.Messages, 'messages() of a ShuffleConsumer', loop)
  }
}

class Garbage extends Loop {
  constructor(native, signal) {
    const loop = { read: values, own: 'their own collection', signal }
    super(native, Native.Garbage, 'gc() of a ShuffleQueue', loop)
  }

  get scanned() {
    return nativeOf(this).scanned
  }

  get deleted() {
    return nativeOf(this).deleted
  }
}

class Claims extends Loop {
  constructor(native, signal) {
    const loop = { read: tasks, own: 'their own claims', signal }
    super(native, Native.Claims, 'claims() of a TaskStore', loop)
  }
}

class Deliveries extends Loop {
  constructor(native, signal) {
    const loop = { read: events, own: 'their own deliveries', signal }
    super(native, Native.Deliveries, 'deliveries() of an EventQueue', loop)
  }
}

class Jobs extends Loop {
  constructor(native, signal) {
    const loop = { read: job, own: 'their own jobs', signal }
    super(native, Native.Jobs, 'jobs() of a TaskWorker', loop)
  }
}

Object.assign(made, { Batches, Claims, Deliveries, Garbage, Messages })

module.exports = { Batches, Claims, Deliveries, Garbage, Jobs, Messages }
