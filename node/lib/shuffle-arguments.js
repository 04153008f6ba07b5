'use strict'

// Checks the arguments of shuffle queues before anything is sent; see arguments.js.

const { types } = require('node:util')

const check = require('./arguments.js')
const { invalid } = require('./errors.js')
const { DEFAULT_STREAM } = require('./reader.js')

const { FIELDS_MAX } = check.limits.shuffle

/** `[field, value, field, value, …]` of an object, a Map or pairs. */
function fieldList(argument, fields, max = FIELDS_MAX) {
  const list = []
  pushFields(list, argument, fields, max, check.taking({ bytes: 0 }, fields))
  return list
}

/** Appends up to `max` fields and values to a list, each of them taken; returns how many fields there are. */
function pushFields(list, argument, fields, max, take) {
  let count = 0
  for (const pair of pairsOf(argument, fields, max)) {
    const path = `${argument}[${count}]`
    if (!Array.isArray(pair) || pair.length !== 2) throw check.wrong(path, '[field, value]', pair)
    list.push(take(path, pair[0], 0), take(path, pair[1], 1))
    count += 1
  }
  return count
}

function pairsOf(argument, fields, max) {
  const isObject =
    typeof fields === 'object' &&
    fields !== null &&
    !ArrayBuffer.isView(fields) &&
    fields[Symbol.iterator] === undefined
  return isObject ? Object.entries(fields) : check.iterable(argument, fields, max)
}

/** For each message the shard key, the number of its fields, and then the fields. */
function messageList(argument, messages) {
  const list = []
  const total = { bytes: 0 }
  const take = check.taking(total, messages)
  let count = 0
  for (const message of check.iterable(argument, messages, check.limits.step.CALL_ITEMS_MAX)) {
    const path = `${argument}[${count++}]`
    if (!Array.isArray(message) || message.length !== 2) {
      throw check.wrong(path, '[shardKey, fields]', message)
    }
    const place = list.push(take(path, message[0], 0), 0) - 1
    const takeField = check.taking(total, message[1], messages)
    list[place] = pushFields(list, `${path}[1]`, message[1], FIELDS_MAX, takeField)
  }
  return list
}

/** `[stream, id, …]` of one message or of several, or of their receipts. */
function receiptList(argument, messages) {
  const list = []
  const isOne = typeof messages?.id === 'string'
  const several = isOne ? [messages] : check.iterable(argument, messages, check.limits.step.CALL_ITEMS_MAX)
  for (const message of several) {
    const path = isOne ? argument : `${argument}[${list.length / 2}]`
    const { stream, id } = message ?? {}
    if (typeof id !== 'string') throw check.wrong(path, 'a message or a receipt', message)
    checkId(id, `${path}.id`)
    list.push(stream === null ? DEFAULT_STREAM : check.smallSize(`${path}.stream`, stream), id)
  }
  return list
}

/** The ids of one dead letter or of several, which may be ids already. */
function letterIds(argument, letters) {
  const isOne = typeof letters === 'string' || typeof letters?.id === 'string'
  return Array.from(isOne ? [letters] : check.iterable(argument, letters, check.limits.step.CALL_ITEMS_MAX), (letter, index) => {
    const path = isOne ? argument : `${argument}[${index}]`
    const id = typeof letter === 'string' ? letter : letter?.id
    if (typeof id !== 'string') throw check.wrong(path, 'a dead letter or its id', letter)
    checkId(id, path)
    return id
  })
}

/** The id of one dead letter, as a list. */
function letterId(argument, letter) {
  if (typeof letter !== 'string' && typeof letter?.id !== 'string') {
    throw check.wrong(argument, 'a dead letter or its id', letter)
  }
  return letterIds(argument, letter)
}

function checkId(id, path) {
  if (!/^[0-9]+-[0-9]+$/.test(id)) throw invalid(`${path} has to have the form of 1700000000000-0`)
}

/** A Date, or whole seconds since the Unix epoch. */
function deadline(argument, value) {
  const seconds = types.isDate(value) ? secondsOf(value) : value
  if (Number.isSafeInteger(seconds)) return seconds
  // Beyond 2^53 a number may have been rounded.
  if (typeof seconds === 'bigint' && BigInt(Number(seconds)) === seconds) return Number(seconds)
  const expected = 'a Date or a whole number of seconds since the Unix epoch'
  const isNumber = typeof seconds === 'bigint' || typeof seconds === 'number'
  throw isNumber ? invalid(`${argument} has to be ${expected}`) : check.wrong(argument, expected, value)
}

/** The first second that is not before a time; a message is not late before its time. */
function secondsOf(date) {
  // 0 means that there is no deadline, so the second before it is used, which is past too.
  const seconds = Math.ceil(date.getTime() / 1000)
  return seconds === 0 ? -1 : seconds
}

module.exports = { deadline, fieldList, letterId, letterIds, messageList, receiptList }
