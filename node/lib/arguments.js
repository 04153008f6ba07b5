'use strict'

// Checks arguments before anything is sent; errors name the argument and the index in it.

const { inspect, types } = require('node:util')

const { invalid, wrongType } = require('./errors.js')
const limits = require('./native.js').limits()

const BYTES = 'a string or a Uint8Array, such as a Buffer'

/** `[score, member, score, member, …]` of pairs, each `[score, member]` or just a member. */
function pairList(pairs) {
  const list = []
  const take = taking({ bytes: 0 }, pairs)
  let index = 0
  for (const item of iterable('pairs', pairs, limits.items)) {
    if (!Array.isArray(item)) {
      list.push(null, take(item, 'pairs', index))
    } else if (item.length === 2) {
      list.push(score(item[0], index), take(item[1], 'pairs', index, '[1]'))
    } else {
      throw wrong(`pairs[${index}]`, '[score, member]', item)
    }
    index += 1
  }
  return list
}

/** An array of up to `max` members. */
function memberList(members, max = limits.stepMembers) {
  const list = []
  const take = taking({ bytes: 0 }, members)
  for (const member of iterable('members', members, max)) {
    list.push(take(member, 'members', list.length))
  }
  return list
}

/**
 * How to take the bytes of what comes from all of these: a generator may fill one Buffer again and
 * again. `total` is how many bytes a call has so far.
 */
function taking(total, ...sources) {
  const isStill = sources.every(Array.isArray)
  return (value, argument, index, part) => {
    const taken = bytes(value, argument, index, part)
    // A string has at least as many bytes; the native half counts them all.
    total.bytes += taken.length
    if (total.bytes > limits.bytes) {
      throw invalid(`up to ${path(argument, index, part)} there are more than ${limits.bytes} bytes`)
    }
    return isStill || typeof taken === 'string' ? taken : new Uint8Array(taken)
  }
}

function score(value, index) {
  if (value === null) return null
  if (typeof value !== 'number') throw wrong(`pairs[${index}][0]`, 'a number or null', value)
  return value
}

/** A member or a name as the native half takes it; `index` and `part` are its position, if any. */
function bytes(value, argument, index, part = '') {
  if (typeof value === 'string') {
    if (value.isWellFormed()) return value
    throw halved(path(argument, index, part))
  }
  if (!types.isUint8Array(value)) throw wrong(path(argument, index, part), BYTES, value)
  if (value.length === 0 && isDetached(value)) {
    throw invalid(`${path(argument, index, part)} is detached: its bytes were transferred`)
  }
  // Another thread could change it while it is read.
  return types.isSharedArrayBuffer(value.buffer) ? new Uint8Array(value) : value
}

/** Whether an array that seems empty has lost its bytes. */
function isDetached(array) {
  try {
    return new Uint8Array(array).length !== 0
  } catch {
    return true
  }
}

function halved(argument) {
  return invalid(`${argument} has half a surrogate pair, which no UTF-8 has`)
}

function path(argument, index, part = '') {
  return index === undefined ? argument : `${argument}[${index}]${part}`
}

/**
 * An iterable of up to `max` items: it may have no end. A string is iterable too, by its letters,
 * which is never intended.
 */
function iterable(argument, values, max) {
  const isSeveral =
    typeof values === 'object' &&
    values !== null &&
    !ArrayBuffer.isView(values) &&
    typeof values[Symbol.iterator] === 'function'
  if (!isSeveral) throw wrong(argument, 'an iterable, such as an array', values)
  if (!Array.isArray(values)) return firstOf(argument, values, max)
  if (values.length > max) throw tooMany(argument, max)
  return values
}

function* firstOf(argument, values, max) {
  let count = 0
  for (const value of values) {
    if (++count > max) throw tooMany(argument, max)
    yield value
  }
}

function tooMany(argument, max) {
  return invalid(`${argument} has more than ${max} items`)
}

/** A size or a count: a whole number. */
function size(argument, value) {
  if (typeof value !== 'bigint' && !Number.isInteger(value)) {
    if (typeof value !== 'number') throw wrong(argument, 'a whole number', value)
    throw invalid(`${argument} has to be a whole number, not ${value}`)
  }
  if (value < 0) throw invalid(`${argument} is negative; it has to be 0 or more`)
  return value
}

/** A whole number that is exact. */
function wholeNumber(argument, value) {
  if (!Number.isSafeInteger(Number(size(argument, value)))) {
    throw invalid(`${argument} is ${value}, which is too large`)
  }
  return Number(value)
}

/** A number of eight bits. */
function byte(argument, value) {
  const number = wholeNumber(argument, value)
  if (number > 255) throw invalid(`${argument} is ${value}, which is too large`)
  return number
}

/** A size of 32 bits at most. */
function smallSize(argument, value) {
  if (size(argument, value) > 0xffffffff) {
    throw invalid(`${argument} is ${value}, which is too large`)
  }
  return Number(value)
}

/** A time in milliseconds; Infinity waits without limit. */
function milliseconds(argument, value) {
  if (typeof value !== 'number') throw wrong(argument, 'a number of milliseconds', value)
  if (!(value >= 0)) throw invalid(`${argument} is ${value}; a time has to be 0 or more`)
  return value
}

/** A time that may not be zero. */
function someMilliseconds(argument, value) {
  if (milliseconds(argument, value) === 0) throw invalid(`${argument} has to be longer than 0`)
  return value
}

function text(argument, value) {
  if (typeof value !== 'string') throw wrong(argument, 'a string', value)
  if (!value.isWellFormed()) throw halved(argument)
  return value
}

function flag(argument, value) {
  if (typeof value !== 'boolean') throw wrong(argument, 'true or false', value)
  return value
}

function oneOf(...values) {
  return (argument, value) => {
    if (values.includes(value)) return value
    const allowed = values.map((one) => inspect(one)).join(' or ')
    throw invalid(`${argument} is ${inspect(value)}; it has to be ${allowed}`)
  }
}

/** An AbortSignal, or an object that behaves like one: frameworks have their own. */
function abortSignal(argument, value) {
  const isSignal =
    typeof value?.aborted === 'boolean' &&
    typeof value.addEventListener === 'function' &&
    typeof value.removeEventListener === 'function'
  if (!isSignal) throw wrong(argument, 'an AbortSignal', value)
  return value
}

const NONE = Object.freeze({})

/**
 * Options: `checks` has a check for each that there is. One that is undefined was left out, and
 * one that is not known is refused, for it would silently do nothing.
 */
function options(given, checks) {
  if (given === undefined) return NONE
  if (typeof given !== 'object' || given === null) throw wrong('options', 'an object', given)
  const known = Object.keys(checks)
  const unknown = Object.keys(given).find((name) => !known.includes(name))
  if (unknown !== undefined) {
    throw invalid(`the option ${unknown} is not known; there is ${known.join(', ')}`)
  }
  const checked = {}
  for (const name of known) {
    // Also one that is inherited, as a getter of a class is.
    const value = given[name]
    if (value !== undefined) checked[name] = checks[name](name, value)
  }
  return checked
}

/** The error for an argument of a wrong type. */
function wrong(argument, expected, value) {
  return wrongType(`${argument} has to be ${expected}, not ${kind(value)}`)
}

/** What a value is, without what it holds: it may be a secret. */
function kind(value) {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value !== 'object') return `a ${typeof value}`
  return value.constructor?.name ?? 'an object'
}

module.exports = {
  abortSignal,
  byte,
  bytes,
  flag,
  iterable,
  limits,
  memberList,
  milliseconds,
  oneOf,
  options,
  pairList,
  size,
  smallSize,
  someMilliseconds,
  taking,
  text,
  wholeNumber,
  wrong
}
