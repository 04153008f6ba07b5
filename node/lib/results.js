'use strict'

// Readers of the results of the native half. Each takes two numbers or one value.

const { made } = require('./generated/records.js')

/** A count of something, or nothing. */
function count(number) {
  return number
}

function nothing() {
  return undefined
}

function isTrue(number) {
  return number !== 0
}

function added(isNew, lowered) {
  return { new: isNew, lowered }
}

/** `[[member, score], …]` of `[member, score, …]`; null stays null. */
function entries(flat) {
  if (flat === null) return null
  const list = new Array(flat.length / 2)
  for (let index = 0; index < list.length; index += 1) {
    list[index] = [flat[index * 2], flat[index * 2 + 1]]
  }
  return list
}

const range = (reader) => [reader.one(), reader.one()]
const NO_RANGE = [null, null]

/** The sizes and score ranges of an Ick. */
made.stats = (reader) => {
  const [ver, key, psetKey, csetKey] = [reader.one(), reader.one(), reader.one(), reader.one()]
  const [psetSize, csetSize] = [reader.one(), reader.one()]
  const [psetMin, psetMax] = reader.maybe(range) ?? NO_RANGE
  const [csetMin, csetMax] = reader.maybe(range) ?? NO_RANGE
  const totalSize = reader.one()
  const scores = [psetMin, psetMax, csetMin, csetMax].filter((score) => score !== null)
  const [totalMin, totalMax] =
    scores.length === 0 ? NO_RANGE : [Math.min(...scores), Math.max(...scores)]
  const sizes = { psetSize, csetSize, totalSize }
  return { ver, key, psetKey, csetKey, ...sizes, psetMin, psetMax, csetMin, csetMax, totalMin, totalMax }
}

module.exports = { added, count, entries, isTrue, nothing }
