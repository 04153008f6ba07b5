'use strict'

const DEFAULT_STREAM = -1

/** Reads a list in the order in which the native half has written it. */
class Reader {
  #list
  #next

  constructor(list, start) {
    this.#list = list
    this.#next = start
  }

  one() {
    return this.#list[this.#next++]
  }

  /** What there is, or null. */
  maybe(read) {
    if (this.#list[this.#next] !== null) return read(this)
    this.#next += 1
    return null
  }

  /** As many as the next number. */
  some(read) {
    const all = []
    for (let left = this.one(); left > 0; left -= 1) all.push(read(this))
    return all
  }

  /** The number of a stream; null for the default one. */
  stream() {
    const number = this.one()
    return number === DEFAULT_STREAM ? null : number
  }

  /**
   * For a list with bytes: whether these parts have the wanted type. If strings are wanted, any part that is not valid
   * text is a Buffer.
   */
  isText(parts) {
    return this.#list[0] || parts.flat().every((part) => typeof part === 'string')
  }
}

/** How to read a list; null stays null. */
function of(read, start = 0) {
  return (list) => (list === null ? null : read(new Reader(list, start)))
}

/** How to read a list with bytes, which begins with whether all parts have the wanted type. */
function ofBytes(read) {
  return of(read, 1)
}

module.exports = { DEFAULT_STREAM, of, ofBytes }
