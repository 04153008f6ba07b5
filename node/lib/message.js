'use strict'

// Messages and dead letters, as they occur in results; see results.js.

const check = require('./arguments.js')
const { notText } = require('./calls.js')
const { made } = require('./generated/records.js')

class Message {
  // Strings or Buffers; both, if the message is not valid text.
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
    const bytes = check.bytes('name', name)
    const found = this.#pairs.find(([field]) => isSame(field, bytes))
    if (found === undefined) return null
    if (!this.#isText && typeof found[1] !== 'string') throw unreadable('the value')
    return found[1]
  }
}

/**
 * Sets a property. If text is wanted and the value is not valid text, reading the property throws;
 * the other properties are not affected. Copying the object also reads the property, because a
 * missing one would go unnoticed.
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

made.message = (reader) => {
  const stream = reader.stream()
  const [id, deliveries] = [reader.one(), reader.one()]
  const pairs = reader.some(() => [reader.one(), reader.one()])
  return new Message(stream, id, pairs, deliveries, reader.isText(pairs))
}

made.deadLetter = (reader) => {
  const letter = { id: reader.one(), message: made.message(reader) }
  for (const name of ['group', 'consumer']) {
    const value = reader.one()
    set(letter, name, value, reader.isText([value]))
  }
  letter.deliveries = reader.one()
  letter.reason = reader.one()
  return letter
}

module.exports = { Message }
