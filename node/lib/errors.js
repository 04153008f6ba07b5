'use strict'

const kinds = require('./generated/errors.js')
const { dependency } = require('./generated/records.js')
const { of } = require('./reader.js')

/** The empty list of refusals, for an error that a program creates. */
const NOTHING = dependency({ some: () => [], one: () => false })

class MillpondError extends Error {
  constructor(message, { operation = '', cause } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    // Own properties, as Node's errors have them: a program that prints an error shows them.
    this.code = new.target.code
    this.number = new.target.number
    this.retry = new.target.retry
    this.operation = operation
  }
}

const WRONG_TYPE = 'ERR_INVALID_ARG_TYPE'

class DependencyError extends MillpondError {
  #found

  constructor(message, options = {}) {
    super(message, options)
    this.#found = options.dependency ?? NOTHING
  }

  static {
    // Getters, since the message contains all of this: a program that prints an error shows it once.
    for (const name of Object.keys(NOTHING)) {
      const get = function () {
        return this.#found[name]
      }
      Object.defineProperty(this.prototype, name, { get, configurable: true })
    }
  }
}

const classes = { MillpondError, DependencyError }
Object.assign(MillpondError, { code: '', number: 0, retry: 'never' })
// The entry of each class in the core's table.
const byNumber = new Map()
for (const { name, ...kind } of kinds) {
  classes[name] ??= { [name]: class extends MillpondError {} }[name]
  Object.assign(classes[name], kind)
  byNumber.set(kind.number, classes[name])
}
for (const found of Object.values(classes)) {
  Object.defineProperty(found.prototype, 'name', { value: found.name, configurable: true })
}

/** The error for a failure that the native half reports. */
function errorOf({ number, message, operation, cause, dependency: found = null }) {
  const Kind = byNumber.get(number)
  const options = { operation, cause: cause === null ? undefined : new Error(cause) }
  options.dependency = of(dependency)(found)
  return new Kind(message, options)
}

/** The error for an argument whose value is wrong. */
function invalid(message) {
  return new classes.InvalidArgumentError(message)
}

/**
 * The error for an argument of a wrong type: the same as that of Node's own functions, since no program handles it.
 */
function wrongType(message) {
  return Object.assign(new TypeError(message), { code: WRONG_TYPE })
}

/** Whether an error says that an argument is wrong. */
function isWrongArgument(error) {
  const isOfType = error instanceof TypeError && error.code === WRONG_TYPE
  return isOfType || error instanceof classes.InvalidArgumentError
}

/** A handle of the native half, which only the native half can make; `method` makes one. */
function madeBy(method, handle, Native) {
  if (handle instanceof Native) return handle
  throw new TypeError(`${Native.name} has no public constructor; ${method} makes one`)
}

/** Makes a call of the native half that returns immediately. */
function atOnce(call) {
  try {
    return call()
  } catch (failure) {
    throw typeof failure.number === 'number' ? errorOf(failure) : failure
  }
}

module.exports = { classes, errorOf, invalid, isWrongArgument, madeBy, atOnce, wrongType }
