'use strict'

const { count } = require('./results.js')
const check = require('./arguments.js')
const { begin, unwrap } = require('./calls.js')
const { atOnce, madeBy } = require('./errors.js')
const { ShuffleConsumer: Native } = require('./native.js')
const results = require('./shuffle-results.js')
const { receiptLists } = require('./shuffle-arguments.js')
const { Messages } = require('./shuffle-messages.js')

const SIGNAL = { signal: check.abortSignal }
const READ = { waitMs: check.milliseconds, ...SIGNAL }
const MESSAGES = { max: check.smallSize, waitMs: check.milliseconds, ...SIGNAL }

class ShuffleConsumer {
  #native

  constructor(native) {
    this.#native = madeBy('consumer() of a ShuffleQueue', native, Native)
  }

  async read(options) {
    const { waitMs, signal } = check.options(options, READ)
    const send = (number) => this.#native.read(number, waitMs)
    return unwrap(await begin(signal, results.message, send))
  }

  async readMany(max, options) {
    const { waitMs, signal } = check.options(options, READ)
    const most = check.smallSize('max', max)
    const send = (number) => this.#native.readMany(number, most, waitMs)
    return unwrap(await begin(signal, results.messages, send))
  }

  messages(options) {
    const { max = 100, waitMs, signal } = check.options(options, MESSAGES)
    return new Messages(atOnce(() => this.#native.messages(max, waitMs)), signal)
  }

  async ack(messages, options) {
    const { signal } = check.options(options, SIGNAL)
    const { streams, ids } = receiptLists(messages)
    return unwrap(await begin(signal, count, (number) => this.#native.ack(number, streams, ids)))
  }

  async ackAndDelete(messages, options) {
    const { signal } = check.options(options, SIGNAL)
    const { streams, ids } = receiptLists(messages)
    const send = (number) => this.#native.ackAndDelete(number, streams, ids)
    return unwrap(await begin(signal, count, send))
  }

  async extend(messages, options) {
    const { signal } = check.options(options, SIGNAL)
    const { streams, ids } = receiptLists(messages)
    return unwrap(await begin(signal, count, (number) => this.#native.extend(number, streams, ids)))
  }

  async reclaim(minIdleMs, max, options) {
    const { signal } = check.options(options, SIGNAL)
    check.milliseconds('minIdleMs', minIdleMs)
    const most = check.smallSize('max', max)
    const send = (number) => this.#native.reclaim(number, minIdleMs, most)
    return unwrap(await begin(signal, results.reclaimed, send))
  }
}

module.exports = { ShuffleConsumer }
