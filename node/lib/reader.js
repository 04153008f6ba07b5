'use strict'

/** Reads a list in the order in which the native half has written it. */
class Reader {
  #list
  #next = 0

  constructor(list) {
    this.#list = list
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
}

/** How to read a list; null stays null. */
function of(read) {
  return (list) => (list === null ? null : read(new Reader(list)))
}

module.exports = { of }
