'use strict'

const check = require('./arguments.js')
const { begin, unwrap } = require('./calls.js')
const { ConsumerLease, SIGNAL, ...handles } = require('./generated/handles.js')
const { made } = require('./generated/records.js')
const { nativeOf } = require('./handle.js')
const { entries } = require('./results.js')

const PEEK = { set: check.oneOf('producer', 'consumer'), ...SIGNAL }

class Ick extends handles.Ick {
  async peek(max, options) {
    const { set = 'producer', signal } = check.options(options, PEEK)
    check.size('max', max)
    return unwrap(await begin(signal, entries, (number) => nativeOf(this).peek(number, max, set)))
  }
}

class IckChannel extends handles.IckChannel {
  draining(earlier) {
    return new IckChannel(nativeOf(this).draining(check.smallSize('earlier', earlier)))
  }
}

Object.assign(made, { Ick, IckChannel })

module.exports = { ConsumerLease, Ick, IckChannel }
