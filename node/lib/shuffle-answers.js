'use strict'

// What the answers of the native half about shuffle queues mean; see answers.js.

const check = require('./arguments.js')
const { Failure, notText } = require('./calls.js')

const DEFAULT_STREAM = -1

class Message {
  constructor(stream, id, fields, deliveries) {
    this.stream = stream
    this.id = id
    this.fields = fields
    this.deliveries = deliveries
  }

  field(name) {
    const bytes = check.bytes(name, 'name')
    const found = this.fields.find(([field]) => isSame(field, bytes))
    return found === undefined ? null : found[1]
  }
}

function isSame(field, name) {
  if (typeof field === 'string' && typeof name === 'string') return field === name
  return Buffer.from(field).equals(Buffer.from(name))
}

/** Reads a list that begins with whether it is text where text is wanted. */
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
    const fields = new Array(this.one())
    for (let index = 0; index < fields.length; index += 1) fields[index] = [this.one(), this.one()]
    return new Message(stream, id, fields, deliveries)
  }
}

function streamOf(number) {
  return number === DEFAULT_STREAM ? null : number
}

function messages(list) {
  const reader = new Reader(list)
  const read = []
  while (!reader.isAtEnd) read.push(reader.message(null))
  return list[0] ? read : taken(read)
}

/** One message, or null. */
function message(list) {
  const read = messages(list)
  return Array.isArray(read) ? (read[0] ?? null) : read
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
  return list[0] ? { messages: read, dead } : taken(read)
}

function deadLetters(list) {
  if (!list[0]) return new Failure(notText)
  const reader = new Reader(list)
  const letters = []
  while (!reader.isAtEnd) {
    const [id, group, consumer, deliveries] = [
      reader.one(),
      reader.one(),
      reader.one(),
      reader.one()
    ]
    letters.push({ id, message: reader.message(null), group, consumer, deliveries })
  }
  return letters
}

/** The failure of messages that are the consumer's now and of which one is no text. */
function taken(read) {
  return new Failure(() => {
    const error = notText(
      'a message is not UTF-8 and would be damaged as strings. It stays pending, with those that ' +
        'were taken with it (see receipts): a consumer of a queue with { returnBuffers: true } ' +
        'can reclaim them'
    )
    error.receipts = read.map(({ stream, id }) => ({ stream, id }))
    return error
  })
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

/** Strings or Buffers; null stays null. */
function values(list) {
  return list
}

function stats([len, pending, lag, ...rest]) {
  const streams = []
  for (let index = 0; index < rest.length; index += 4) {
    const [own, given, ahead, oldestIdleMs] = rest.slice(index, index + 4)
    streams.push({ len: own, pending: given, lag: ahead, oldestIdleMs })
  }
  return { len, pending, lag, streams }
}

module.exports = {
  Message,
  batch,
  deadLetters,
  message,
  messages,
  receipt,
  receipts,
  reclaimed,
  stats,
  values
}
