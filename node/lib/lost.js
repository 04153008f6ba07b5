'use strict'

const { begin } = require('./calls.js')
const { classes } = require('./errors.js')
const { isTrue } = require('./results.js')

/**
 * A signal that aborts when the lease of a `what` is lost; `send` begins the call that returns
 * whether it was. Keeps neither the lease nor the program alive.
 */
function lostSignal(what, send) {
  const controller = new AbortController()
  const told = begin(undefined, isTrue, send, undefined, true)
  told.then((isLost) => {
    // A call that failed is one for a lease that has ended already.
    if (isLost === true) {
      controller.abort(new classes.LeaseLostError(`the lease of the ${what} was lost`))
    }
  })
  return controller.signal
}

module.exports = { lostSignal }
