'use strict'

// What the results of the native half about shuffle queues mean; see results.js.

const check = require('./arguments.js')
const { notText } = require('./calls.js')
const { shuffleStats } = require('./generated/records.js')
const { of } = require('./reader.js')

const DEFAULT_STREAM = -1

class Message {
  // Strings or Buffers; of a message that is no text, strings and Buffers.
  #pairs
  #isText

  constructor(stream, id, pairs, deliveries = 1, isText) {
    this.#pairs = pairs
    this.#isText = isText
    this.stream = stream
    this.id = id
    set(this, 'fields', pairs, isText)
    this.deliveries = deliveries
  }

  get bytes() {
    return this.#pairs.map((pair) => pair.map((part) => Buffer.from(part)))
  }

  field(name) {
    const bytes = check.bytes(name, 'name')
    const found = this.#pairs.find(([field]) => isSame(field, bytes))
    if (found === undefined) return null
    if (!this.#isText && typeof found[1] !== 'string') throw unreadable('the value')
    return found[1]
  }
}

/**
 * Sets a property. One that is no text where text is wanted throws when it is read, and does not
 * affect the others. Copying the object reads it as well: a missing property would go unnoticed.
 */
function set(object, name, value, isText) {
  const get = () => {
    throw unreadable(name)
  }
  if (isText) object[name] = value
  else Object.defineProperty(object, name, { get, enumerable: true })
}

function unreadable(name) {
  return notText(
    `${name}: this is not UTF-8 and would be damaged as a string; a message has its bytes, and ` +
      '{ returnBuffers: true } returns Buffers'
  )
}

function isSame(field, name) {
  if (typeof field === 'string' && typeof name === 'string') return field === name
  return Buffer.from(field).equals(Buffer.from(name))
}

/**
 * Reads a list that begins with whether it is all text where text is wanted. What is not, is a
 * Buffer among strings.
 */
class Reader {
  #list
  #next = 1

  constructor(list) {
    this.#list = list
  }

  get isAtEnd() {
    return this.#next === this.#list.length
  }

  one() {
    return this.#list[this.#next++]
  }

  message(deliveries) {
    const stream = streamOf(this.one())
    const id = this.one()
    const pairs = new Array(this.one())
    for (let index = 0; index < pairs.length; index += 1) pairs[index] = [this.one(), this.one()]
    return new Message(stream, id, pairs, deliveries, this.isText(pairs))
  }

  /** Whether all of this, names or pairs, is as it is wanted. */
  isText(parts) {
    return this.#list[0] || parts.flat().every((part) => typeof part === 'string')
  }
}

function streamOf(number) {
  return number === DEFAULT_STREAM ? null : number
}

function messages(list) {
  const reader = new Reader(list)
  const read = []
  while (!reader.isAtEnd) read.push(reader.message(1))
  return read
}

/** One message, or null. */
function message(list) {
  return messages(list)[0] ?? null
}

/** The messages of a loop's turn; null stays null. */
function batch(list) {
  return list === null ? null : messages(list)
}

function reclaimed(list) {
  const reader = new Reader(list)
  const dead = reader.one()
  const read = []
  while (!reader.isAtEnd) read.push(reader.message(reader.one()))
  return { messages: read, dead }
}

function deadLetters(list) {
  const reader = new Reader(list)
  const letters = []
  while (!reader.isAtEnd) {
    const [id, group, consumer, deliveries] = [
      reader.one(),
      reader.one(),
      reader.one(),
      reader.one()
    ]
    const letter = { id, message: reader.message(deliveries) }
    set(letter, 'group', group, reader.isText([group]))
    set(letter, 'consumer', consumer, reader.isText([consumer]))
    letter.deliveries = deliveries
    letters.push(letter)
  }
  return letters
}

function receipts(list) {
  const read = new Array(list.length / 2)
  for (let index = 0; index < read.length; index += 1) {
    read[index] = { stream: streamOf(list[index * 2]), id: list[index * 2 + 1] }
  }
  return read
}

/** One receipt, or null. */
function receipt(list) {
  return receipts(list)[0] ?? null
}

/** Strings, or Buffers for anything but text. */
function cordoned(list) {
  return list.slice(1)
}

/** Strings or Buffers; null stays null. */
function values(list) {
  return list
}

module.exports = {
  Message,
  batch,
  cordoned,
  deadLetters,
  message,
  messages,
  receipt,
  receipts,
  reclaimed,
  stats: of(shuffleStats),
  values
}
