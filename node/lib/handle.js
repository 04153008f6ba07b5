'use strict'

const { begin } = require('./calls.js')
const { classes, madeBy } = require('./errors.js')
const { isTrue } = require('./results.js')

/** What the native half has of a handle. */
let nativeOf

/** What a client makes, and what that makes. */
class Handle {
  #native

  static {
    nativeOf = (handle) => handle.#native
  }

  /** `method` is what makes one of these. */
  constructor(native, Native, method) {
    this.#native = madeBy(method, native, Native)
  }
}

/**
 * A signal that aborts when the lease of a `what` is lost. Keeps neither the lease nor the program alive.
 */
function lostSignal(what, handle) {
  const controller = new AbortController()
  const native = nativeOf(handle)
  const told = begin(undefined, isTrue, (number) => native.lost(number), undefined, true)
  told.then((isLost) => {
    // A call that failed is one for a lease that has ended already.
    if (isLost === true) {
      controller.abort(new classes.LeaseLostError(`the lease of the ${what} was lost`))
    }
  })
  return controller.signal
}

module.exports = { Handle, lostSignal, nativeOf }
