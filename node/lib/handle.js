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

/** What aborts the signals of those handles that have one. */
const controllers = new WeakMap()

/**
 * A signal that aborts when the lease of a `what` is lost. Keeps neither the lease nor the program alive.
 */
function lostSignal(what, handle) {
  const found = controllers.get(handle)
  if (found !== undefined) return found.signal
  const controller = new AbortController()
  controllers.set(handle, controller)
  const told = begin(undefined, isTrue, losing(nativeOf(handle)), undefined, true)
  told.then((isLost) => {
    // A call that failed is one for a lease that has ended already.
    if (isLost === true) {
      controller.abort(new classes.LeaseLostError(`the lease of the ${what} was lost`))
    }
  })
  return controller.signal
}

/** Aborts the signal of a handle. */
function abort(handle, reason) {
  // Of one that nobody has asked for as well: it may be asked for later.
  const { signal } = handle
  if (!signal.aborted) controllers.get(handle).abort(reason)
}

/** How that call is sent. In a function of its own, or what follows it would keep the lease alive. */
function losing(native) {
  return (number) => native.lost(number)
}

module.exports = { abort, Handle, lostSignal, nativeOf }
