'use strict'

const { added } = require('./results.js')
const check = require('./arguments.js')
const { Batches, BATCHES } = require('./batches.js')
const { begin, unwrap } = require('./calls.js')
const { atOnce, madeBy } = require('./errors.js')
const { Ick } = require('./ick.js')
const { IckChannel: Native } = require('./native.js')

const SIGNAL = { signal: check.abortSignal }

class IckChannel {
  #native

  constructor(native) {
    this.#native = madeBy('ickChannel() of a client', native, Native)
  }

  get shards() {
    return this.#native.shards
  }

  get readable() {
    return this.#native.readable
  }

  draining(earlier) {
    return new IckChannel(this.#native.draining(check.smallSize('earlier', earlier)))
  }

  ick(number) {
    return new Ick(this.#native.ick(check.smallSize('number', number)))
  }

  ickOf(member) {
    return this.#native.ickOf(check.bytes(member, 'member'))
  }

  async add(pairs, options) {
    const { signal } = check.options(options, SIGNAL)
    const list = check.pairList(pairs)
    return unwrap(await begin(signal, added, (number) => this.#native.add(number, list)))
  }

  batches(numbers, max, options) {
    const { waitMs, signal } = check.options(options, BATCHES)
    const icks = Array.from(check.iterable('numbers', numbers, check.limits.icks), (number, index) =>
      check.smallSize(`numbers[${index}]`, number)
    )
    check.size('max', max)
    return new Batches(atOnce(() => this.#native.batches(icks, max, waitMs)), signal)
  }
}

module.exports = { IckChannel }
