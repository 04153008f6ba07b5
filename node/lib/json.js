'use strict'

// Finds in a value what JSON.stringify() silently writes as something else, and names its path.

const { types } = require('node:util')
const { JSON_DEPTH_MAX } = require('./generated/limits.js').tasks
const { invalid } = require('./errors.js')

const HALVED = 'has half a surrogate pair, which no UTF-8 has'
// Longer keys are cut in messages.
const KEY_LENGTH_MAX = 40

// Types that JSON.stringify() writes as {}, whatever they hold.
const EMPTIED = [
  ['a Map', types.isMap],
  ['a Set', types.isSet],
  ['a RegExp', types.isRegExp],
  ['an Error', types.isNativeError],
  ['an ArrayBuffer', types.isAnyArrayBuffer],
  ['a WeakMap', types.isWeakMap],
  ['a WeakSet', types.isWeakSet],
]

/**
 * Refuses NaN, infinities and invalid dates, which JSON.stringify() writes as null; promises, maps, sets and the like,
 * which it writes as {}; and lone surrogates. `written` is what it wrote, so the value has no cycle.
 */
function checkFaithful(argument, value, written) {
  const fault = faultOf(value, '', written.includes('\\ud'), 0)
  if (fault === undefined) return
  const [reason, ...keys] = fault
  throw invalid(`${argument}${keys.reverse().join('')} ${reason}`)
}

/** What is wrong, and the steps to where it is, the last step first; undefined if nothing is wrong. */
function faultOf(value, key, hasHalves, depth) {
  if (typeof value === 'number') {
    return Number.isFinite(value) ? undefined : [`is ${value}, which JSON does not have`]
  }
  if (typeof value === 'string') {
    return hasHalves && !value.isWellFormed() ? [HALVED] : undefined
  }
  // The core refuses values that are nested deeper.
  if (typeof value !== 'object' || value === null || depth > JSON_DEPTH_MAX) return undefined
  if (typeof value.then === 'function') return ['is a promise; await it first']
  if (typeof value.toJSON === 'function') {
    if (types.isDate(value)) return Number.isNaN(value.getTime()) ? ['is an invalid date'] : undefined
    return faultOf(value.toJSON(key), key, hasHalves, depth + 1)
  }
  if (!Array.isArray(value)) return emptied(value) ?? faultIn(value, hasHalves, depth)
  for (let index = 0; index < value.length; index++) {
    const fault = faultOf(value[index], String(index), hasHalves, depth + 1)
    if (fault !== undefined) return [...fault, `[${index}]`]
  }
}

function emptied(object) {
  if (Object.getPrototypeOf(object) === Object.prototype) return undefined
  const kind = EMPTIED.find(([, is]) => is(object))
  return kind && [`is ${kind[0]}, which JSON does not have`]
}

function faultIn(object, hasHalves, depth) {
  for (const key of Object.keys(object)) {
    const fault = faultOf(object[key], key, hasHalves, depth + 1)
    if (fault !== undefined) return [...fault, step(key)]
    if (hasHalves && !key.isWellFormed()) return [`has a key that ${HALVED}`]
  }
}

function step(key) {
  if (key.length > KEY_LENGTH_MAX) return `[${JSON.stringify(`${key.slice(0, KEY_LENGTH_MAX)}…`)}]`
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}

module.exports = { checkFaithful }
