'use strict'

const { begin } = require('./calls.js')
const { classes, madeBy } = require('./errors.js')
const { isTrue } = require('./results.js')

/** The native half's part of a handle. */
let nativeOf

/** The handles that a client makes, and those that these make. */
class Handle {
  #native

  static {
    nativeOf = (handle) => handle.#native
  }

  /** `method` makes such a handle. */
  constructor(native, Native, method) {
    this.#native = madeBy(method, native, Native)
  }
}

/** The abort controllers of the handles that have a signal. */
const controllers = new WeakMap()

/**
 * A signal that aborts when a `what` is lost. Keeps neither the lease nor the program alive.
 */
function lostSignal(what, handle) {
  const found = controllers.get(handle)
  if (found !== undefined) return found.signal
  const controller = new AbortController()
  controllers.set(handle, controller)
  const told = begin(undefined, isTrue, losing(nativeOf(handle)), undefined, true)
  told.then((isLost) => {
    // If the call failed, the lease has already ended.
    if (isLost === true) {
      controller.abort(new classes.LeaseLostError(`the ${what} was lost`))
    }
  })
  return controller.signal
}

/** Aborts the signal of a handle. */
function abort(handle, reason) {
  // Also a signal that was not requested yet: it may be requested later.
  const { signal } = handle
  if (!signal.aborted) controllers.get(handle).abort(reason)
}

/** How that call is sent. In a separate function, so that no closure keeps the lease alive. */
function losing(native) {
  return (number) => native.lost(number)
}

module.exports = { abort, Handle, lostSignal, nativeOf }
