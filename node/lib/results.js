'use strict'

// What the results of the native half mean. Each takes two numbers or one value.

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

function stats(values) {
  if (values === null) return null
  const [ver, key, psetKey, csetKey, psetSize, csetSize, totalSize, ...scores] = values
  const [psetMin, psetMax, csetMin, csetMax, totalMin, totalMax] = scores
  return {
    ver,
    key,
    psetKey,
    csetKey,
    psetSize,
    csetSize,
    totalSize,
    psetMin,
    psetMax,
    csetMin,
    csetMax,
    totalMin,
    totalMax
  }
}

module.exports = { added, count, entries, isTrue, nothing, stats }
