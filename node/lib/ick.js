'use strict'

const { added, count, entries, stats } = require('./results.js')
const check = require('./arguments.js')
const { Batches, BATCHES } = require('./batches.js')
const { begin, unwrap } = require('./calls.js')
const { atOnce, madeBy } = require('./errors.js')
const { ConsumerLease } = require('./lease.js')
const { Ick: Native } = require('./native.js')

const SIGNAL = { signal: check.abortSignal }
const RESERVE = { backwash: check.flag, ...SIGNAL }
const PEEK = { set: check.oneOf('producer', 'consumer'), ...SIGNAL }

class Ick {
  #native

  constructor(native) {
    this.#native = madeBy('ick() of a client', native, Native)
  }

  async add(pairs, options) {
    const { signal } = check.options(options, SIGNAL)
    const list = check.pairList(pairs)
    return unwrap(await begin(signal, added, (number) => this.#native.add(number, list)))
  }

  async reserve(max, options) {
    const { backwash = false, signal } = check.options(options, RESERVE)
    check.size('max', max)
    const send = (number) => this.#native.reserve(number, max, backwash)
    return unwrap(await begin(signal, entries, send))
  }

  async commit(members, options) {
    const { signal } = check.options(options, SIGNAL)
    const list = check.memberList(members, check.limits.items)
    return unwrap(await begin(signal, count, (number) => this.#native.commit(number, list)))
  }

  async exchange(max, members = [], options = undefined) {
    const { backwash = false, signal } = check.options(options, RESERVE)
    check.size('max', max)
    const list = check.memberList(members)
    const send = (number) => this.#native.exchange(number, max, list, backwash)
    return unwrap(await begin(signal, entries, send))
  }

  async stats(options) {
    const { signal } = check.options(options, SIGNAL)
    return unwrap(await begin(signal, stats, (number) => this.#native.stats(number)))
  }

  async peek(max, options) {
    const { set = 'producer', signal } = check.options(options, PEEK)
    check.size('max', max)
    return unwrap(await begin(signal, entries, (number) => this.#native.peek(number, max, set)))
  }

  async delete(options) {
    const { signal } = check.options(options, SIGNAL)
    return unwrap(await begin(signal, count, (number) => this.#native.delete(number)))
  }

  async unlink(options) {
    const { signal } = check.options(options, SIGNAL)
    return unwrap(await begin(signal, count, (number) => this.#native.unlink(number)))
  }

  async lease(ttlMs, options) {
    const { signal } = check.options(options, SIGNAL)
    check.milliseconds('ttlMs', ttlMs)
    const lease = (held) => (held === null ? null : new ConsumerLease(held))
    return unwrap(await begin(signal, lease, (number) => this.#native.lease(number, ttlMs)))
  }

  batches(max, options) {
    const { waitMs, signal } = check.options(options, BATCHES)
    check.size('max', max)
    return new Batches(atOnce(() => this.#native.batches(max, waitMs)), signal)
  }
}

module.exports = { Ick }
