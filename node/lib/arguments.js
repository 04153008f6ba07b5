'use strict'

// Checks arguments before anything is sent; errors name the argument and the index in it.

const { inspect, types } = require('node:util')

const { invalid, wrongType } = require('./errors.js')
const limits = require('./generated/limits.js')

const BYTES = 'a string or a Uint8Array, such as a Buffer'

/** `[score, member, score, member, …]` of pairs, each `[score, member]` or just a member. */
function pairList(argument, pairs) {
  const list = []
  const take = taking({ bytes: 0 }, pairs)
  let index = 0
  for (const item of iterable(argument, pairs, limits.step.CALL_ITEMS_MAX)) {
    if (!Array.isArray(item)) {
      list.push(null, take(argument, item, index))
    } else if (item.length === 2) {
      list.push(score(argument, item[0], index), take(argument, item[1], index, '[1]'))
    } else {
      throw wrong(`${argument}[${index}]`, '[score, member]', item)
    }
    index += 1
  }
  return list
}

/** An array of members. */
function memberList(argument, members, max) {
  const take = taking({ bytes: 0 }, members)
  return listOf(argument, members, max, take)
}

/** The numbers of a channel's Icks. */
function numberList(argument, numbers, max) {
  const number = (argument, value, index) => smallSize(path(argument, index), value)
  return listOf(argument, numbers, max, number)
}

/** Names: one string, or an iterable of several. */
function names(argument, values, max = limits.tasks.CLAIM_QUEUES_MAX) {
  if (typeof values === 'string') return [text(argument, values)]
  return texts(argument, values, max)
}

/** An iterable of up to `max` strings. */
function texts(argument, values, max) {
  return listOf(argument, values, max, text)
}

/** The number of strings, and then the strings. */
function someTexts(argument, values) {
  const all = texts(argument, values, limits.tasks.FILTER_NAMES_MAX)
  return [all.length, ...all]
}

/** The number of headers, and then the name and the value of each. */
function headers(argument, given) {
  const list = require('./shuffle-arguments.js').fieldList(argument, given)
  return [list.length / 2, ...list]
}

/** An array of up to `max` values, each checked. */
function listOf(argument, values, max, take) {
  const list = []
  for (const value of iterable(argument, values, max)) {
    list.push(take(argument, value, list.length))
  }
  return list
}

/** The properties of an object that are named here, each checked. */
function parts(checks) {
  return (argument, value) =>
    Object.entries(checks).map(([name, take]) => take(`${argument}.${name}`, value?.[name]))
}

/**
 * Makes a function that takes the bytes of values from these sources. A generator may reuse one
 * Buffer, so bytes are copied unless all sources are arrays. `total` is how many bytes a call has
 * so far.
 */
function taking(total, ...sources) {
  const isStill = sources.every(Array.isArray)
  return (argument, value, index, part) => {
    const taken = bytes(argument, value, index, part)
    // A string has at least this many bytes; the native half counts them all.
    total.bytes += taken.length
    if (total.bytes > limits.step.CALL_BYTES_MAX) {
      throw invalid(`up to ${path(argument, index, part)} there are more than ${limits.step.CALL_BYTES_MAX} bytes`)
    }
    return isStill || typeof taken === 'string' ? taken : new Uint8Array(taken)
  }
}

function score(argument, value, index) {
  if (value === null) return null
  if (typeof value !== 'number') throw wrong(path(argument, index, '[0]'), 'a number or null', value)
  return value
}

/** A member or a name as the native half takes it; `index` and `part` are its position, if any. */
function bytes(argument, value, index, part = '') {
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
 * An iterable of up to `max` items, or as many as a call may have, since it may be endless. A string is iterable too, by its
 * letters, which is never intended.
 */
function iterable(argument, values, max = limits.step.CALL_ITEMS_MAX) {
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

/** Any number. */
function number(argument, value) {
  if (typeof value !== 'number') throw wrong(argument, 'a number', value)
  return value
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

function text(argument, value, index) {
  if (typeof value !== 'string') throw wrong(path(argument, index), 'a string', value)
  if (!value.isWellFormed()) throw halved(path(argument, index))
  return value
}

function flag(argument, value) {
  if (typeof value !== 'boolean') throw wrong(argument, 'true or false', value)
  return value
}

/** True or false, where leaving it out says something else: 1 or 0. */
function choice(argument, value) {
  return flag(argument, value) ? 1 : 0
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
 * Options: `checks` has a check for each option that exists. An option that is undefined was
 * omitted, and an unknown option is refused, because it would silently do nothing.
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
    // Also an inherited option, such as a getter of a class.
    const value = given[name]
    if (value !== undefined) checked[name] = checks[name](name, value)
  }
  return checked
}

/** The error for an argument of a wrong type. */
function wrong(argument, expected, value) {
  return wrongType(`${argument} has to be ${expected}, not ${kind(value)}`)
}

/** What kind of value it is, without its contents, which may be secret. */
function kind(value) {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value !== 'object') return `a ${typeof value}`
  return value.constructor?.name || 'an object'
}

module.exports = {
  abortSignal,
  byte,
  bytes,
  choice,
  flag,
  headers,
  iterable,
  limits,
  memberList,
  milliseconds,
  names,
  number,
  numberList,
  oneOf,
  options,
  pairList,
  parts,
  size,
  smallSize,
  someMilliseconds,
  someTexts,
  taking,
  text,
  texts,
  wholeNumber,
  wrong
}
