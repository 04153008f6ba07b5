'use strict'

const native = require('./native.js')

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
const LISTS = [
  'inserts',
  'changes',
  'deletes',
  'depends',
  'claims',
  'docInserts',
  'docChanges',
  'docDeletes',
  'docDepends',
  'docClaims'
]
const PREDICATES = [
  'hasMissing',
  'hasMissingDocs',
  'hasClaims',
  'hasClaimedDocs',
  'hasCollisions',
  'onlyClaims'
]

class DependencyError extends MillpondError {
  #found

  constructor(message, options = {}) {
    super(message, options)
    this.#found = options.dependency ?? {}
  }

  static {
    // Getters, since the message says all of it: a program that prints an error shows it once.
    const define = (name, none) => {
      const get = function () {
        return this.#found[name] ?? none()
      }
      Object.defineProperty(this.prototype, name, { get, configurable: true })
    }
    for (const name of LISTS) define(name, () => [])
    for (const name of PREDICATES) define(name, () => false)
  }
}

const classes = {
  MillpondError,
  InvalidArgumentError: class InvalidArgumentError extends MillpondError {},
  InvalidUrlError: class InvalidUrlError extends MillpondError {},
  CrossSlotError: class CrossSlotError extends MillpondError {},
  WrongTypeError: class WrongTypeError extends MillpondError {},
  IncompatibleVersionError: class IncompatibleVersionError extends MillpondError {},
  ConnectionFailedError: class ConnectionFailedError extends MillpondError {},
  ConnectionLostError: class ConnectionLostError extends MillpondError {},
  TimeoutError: class TimeoutError extends MillpondError {},
  AuthenticationFailedError: class AuthenticationFailedError extends MillpondError {},
  PermissionDeniedError: class PermissionDeniedError extends MillpondError {},
  UnavailableError: class UnavailableError extends MillpondError {},
  OutOfMemoryError: class OutOfMemoryError extends MillpondError {},
  ServerError: class ServerError extends MillpondError {},
  LeaseLostError: class LeaseLostError extends MillpondError {},
  LockedError: class LockedError extends MillpondError {},
  CorruptError: class CorruptError extends MillpondError {},
  StorageError: class StorageError extends MillpondError {},
  ForkedError: class ForkedError extends MillpondError {},
  ClosedError: class ClosedError extends MillpondError {},
  CancelledError: class CancelledError extends MillpondError {},
  InternalError: class InternalError extends MillpondError {},
  DependencyError
}

/** CONNECTION_LOST is the code of ConnectionLostError. */
function className(code) {
  const words = code.toLowerCase().split('_')
  return `${words.map((word) => word[0].toUpperCase() + word.slice(1)).join('')}Error`
}

// What the core's table has about each class.
const byNumber = new Map()
for (const { number, code, retry } of native.errorKinds()) {
  const found = classes[className(code)]
  Object.assign(found, { code, number, retry })
  byNumber.set(number, found)
}
Object.assign(MillpondError, { code: '', number: 0, retry: 'never' })
for (const found of Object.values(classes)) {
  Object.defineProperty(found.prototype, 'name', { value: found.name, configurable: true })
}

/** The error for a failure that the native half reports. */
function errorOf({ number, message, operation, cause, dependency }) {
  const Kind = byNumber.get(number)
  const options = { operation, cause: cause === null ? undefined : new Error(cause), dependency }
  return new Kind(message, options)
}

/** The error for an argument whose value is wrong. */
function invalid(message) {
  return new classes.InvalidArgumentError(message)
}

/**
 * The error for an argument of a wrong type: as of Node's own functions, since no program handles it.
 */
function wrongType(message) {
  return Object.assign(new TypeError(message), { code: WRONG_TYPE })
}

/** Whether an error says that an argument is wrong. */
function isWrongArgument(error) {
  const isOfType = error instanceof TypeError && error.code === WRONG_TYPE
  return isOfType || error instanceof classes.InvalidArgumentError
}

/** A handle of the native half, which only it can make; `method` is what makes one. */
function madeBy(method, handle, Native) {
  if (handle instanceof Native) return handle
  throw new TypeError(`${Native.name} has no public constructor; ${method} makes one`)
}

/** Makes a call of the native half that returns at once. */
function atOnce(call) {
  try {
    return call()
  } catch (failure) {
    throw typeof failure.number === 'number' ? errorOf(failure) : failure
  }
}

module.exports = { classes, errorOf, invalid, isWrongArgument, madeBy, atOnce, wrongType }
