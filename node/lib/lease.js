'use strict'

const { count, entries, isTrue } = require('./results.js')
const check = require('./arguments.js')
const { Batches, BATCHES } = require('./batches.js')
const { begin, unwrap } = require('./calls.js')
const { atOnce, madeBy } = require('./errors.js')
const { lostSignal } = require('./lost.js')
const { ConsumerLease: Native } = require('./native.js')

const SIGNAL = { signal: check.abortSignal }

class ConsumerLease {
  #native
  #signal

  constructor(native) {
    this.#native = madeBy('lease() of an Ick', native, Native)
  }

  get isLost() {
    return this.#native.isLost
  }

  get signal() {
    this.#signal ??= lostSignal('Ick', (number) => this.#native.lost(number))
    return this.#signal
  }

  async reserve(max, options) {
    const { signal } = check.options(options, SIGNAL)
    check.size('max', max)
    return unwrap(await begin(signal, entries, (number) => this.#native.reserve(number, max)))
  }

  async commit(members, options) {
    const { signal } = check.options(options, SIGNAL)
    const list = check.memberList(members)
    return unwrap(await begin(signal, count, (number) => this.#native.commit(number, list)))
  }

  async exchange(max, members = [], options = undefined) {
    const { signal } = check.options(options, SIGNAL)
    check.size('max', max)
    const list = check.memberList(members)
    const send = (number) => this.#native.exchange(number, max, list)
    return unwrap(await begin(signal, entries, send))
  }

  batches(max, options) {
    const { waitMs, signal } = check.options(options, BATCHES)
    check.size('max', max)
    return new Batches(atOnce(() => this.#native.batches(max, waitMs)), signal, this)
  }

  async release(options) {
    const { signal } = check.options(options, SIGNAL)
    return unwrap(await begin(signal, isTrue, (number) => this.#native.release(number)))
  }

  async [Symbol.asyncDispose]() {
    await this.release()
  }
}

module.exports = { ConsumerLease }
