'use strict'

const check = require('./arguments.js')
const Native = require('./native.js')

/** The native half's part of a clock. */
let clockOf

class ManualClock {
  #native

  static {
    clockOf = (argument, value) => {
      if (!(value instanceof ManualClock)) throw check.wrong(argument, 'a ManualClock', value)
      return value.#native
    }
  }

  constructor(nowMs) {
    this.#native = new Native.ManualClock(nowMs === undefined ? null : check.wholeNumber('nowMs', nowMs))
  }

  get nowMs() {
    return this.#native.nowMs
  }

  advance(timeMs) {
    this.#native.advance(check.milliseconds('timeMs', timeMs))
  }
}

module.exports = { clockOf, ManualClock }
