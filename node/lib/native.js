'use strict'

// The private native half. A package can carry the addons of several machines, in
// prebuilt/<platform>-<arch>-<libc>/.

const { existsSync, readdirSync } = require('node:fs')
const path = require('node:path')

const folder = path.join(__dirname, '..', 'prebuilt')
const machine = `${process.platform}-${process.arch}`

function load() {
  const fitting = existsSync(folder)
    ? readdirSync(folder).filter((name) => name === machine || name.startsWith(`${machine}-`))
    : []
  let cause
  for (const name of fitting) {
    try {
      return require(path.join(folder, name, 'millpond.node'))
    } catch (failure) {
      // Linux has two C libraries, and the addon of the other one does not load.
      cause = failure
    }
  }
  throw new Error(
    `millpond has no addon that loads on ${machine}, Node ${process.version}. In a clone of the ` +
      'repository "npm run build" in node/ builds one; it needs Rust.',
    { cause }
  )
}

module.exports = load()
