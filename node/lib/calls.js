'use strict'

// Promises for the calls of the native half. Each call has a number; its result arrives in a row of
// a typed array, together with the results of all other calls that are done by then.

// Taken once: tests replace the timers of the module with fake ones.
const { setImmediate, setInterval } = require('node:timers')

const { Calls } = require('./native.js')
const { errorOf } = require('./errors.js')

const ROWS = 256
const ROW = 4
const [NUMBERS, VALUE, FAILURE] = [0, 1, 2]

const rows = new Float64Array(ROWS * ROW)
const values = []
const native = new Calls(drain)

const underWay = []
const free = []
let count = 0
let isDrainDue = false

// Keeps the program alive while calls are in progress: the native half's wake-up does not.
const keeper = setInterval(() => {}, 2 ** 31 - 1).unref()

/** What a call resolves to when it has failed; `unwrap` throws its error. */
class Failure {
  constructor(error) {
    this.error = error
  }
}

class Call {
  constructor(resolve, read, signal, owner, isIdle) {
    this.resolve = resolve
    this.read = read
    this.signal = signal
    this.owner = owner
    this.isIdle = isIdle
  }
}

/**
 * Begins a call, which `send` hands to the native half under a number; `read` makes the result from
 * what the native half returns, two numbers or one value. Never rejects: the result is for
 * `unwrap`. A caller that may `giveUp` the call passes itself as the owner. An idle call does not
 * keep the program alive.
 */
function begin(signal, read, send, owner, isIdle = false) {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve(aborted(signal))
      return
    }
    const number = free.length === 0 ? underWay.length : free.pop()
    underWay[number] = new Call(resolve, read, signal, owner, isIdle)
    if (!isIdle && count++ === 0) keeper.ref()
    let isReady
    try {
      isReady = send(number)
    } catch (thrown) {
      end(number, new Failure(() => thrown))
      return
    }
    if (signal !== undefined) follow(signal, number)
    if (isReady && !isDrainDue) {
      // A call that an embedded engine has already done still waits for the event loop's next turn:
      // a loop of such calls would starve everything else.
      isDrainDue = true
      setImmediate(drainReady)
    }
  })
}

/**
 * The result of a call, or its error. The error is made here, after the caller's `await`, so that
 * its stack shows who called.
 */
function unwrap(result) {
  if (result instanceof Failure) throw result.error()
  return result
}

function end(number, result) {
  const call = underWay[number]
  underWay[number] = undefined
  free.push(number)
  if (!call.isIdle && --count === 0) keeper.unref()
  if (call.signal !== undefined) unfollow(call.signal, number)
  call.resolve(result)
}

// The calls that follow each signal. They share a listener, since Node warns of a leak if one
// signal has many.
const followers = new WeakMap()

function follow(signal, number) {
  let found = followers.get(signal)
  if (found === undefined) {
    const numbers = new Set()
    found = { numbers, abort: () => numbers.forEach((one) => drop(one, aborted(signal))) }
    followers.set(signal, found)
  }
  if (found.numbers.size === 0) signal.addEventListener('abort', found.abort)
  found.numbers.add(number)
}

function unfollow(signal, number) {
  const found = followers.get(signal)
  if (!found?.numbers.delete(number)) return
  if (found.numbers.size === 0) signal.removeEventListener('abort', found.abort)
}

function aborted({ reason }) {
  // Signals that are not Node's may have no reason.
  const none = () => new DOMException('This operation was aborted', 'AbortError')
  return new Failure(reason === undefined ? none : () => reason)
}

/** Ends a call with this result; the result of the native half is ignored. */
function drop(number, result) {
  native.forget(number)
  end(number, result)
}

/**
 * Ends a call with null if it is still in progress. Its number may belong to another call by now,
 * so the owner is compared too; an owner may have one such call at a time.
 */
function giveUp(number, owner) {
  if (underWay[number]?.owner === owner) drop(number, null)
}

function drainReady() {
  isDrainDue = false
  drain()
}

function drain() {
  let written
  do {
    written = native.drain(rows, values)
    for (let row = 0; row < written * ROW; row += ROW) {
      end(rows[row], readResult(underWay[rows[row]].read, rows[row + 1], rows[row + 2], rows[row + 3]))
    }
    values.length = 0
  } while (written === ROWS)
}

function readResult(read, kind, first, second) {
  if (kind === NUMBERS) return read(first, second)
  const value = values[first]
  if (kind === VALUE) return read(value)
  return new Failure(kind === FAILURE ? () => errorOf(value) : notText)
}

const NOT_TEXT =
  'a result is not UTF-8 and would be damaged as a string; { returnBuffers: true } returns Buffers'

function notText(message = NOT_TEXT) {
  const error = new TypeError(message)
  error.code = 'ERR_ENCODING_INVALID_ENCODED_DATA'
  return error
}

module.exports = { aborted, begin, giveUp, native, notText, unwrap }
