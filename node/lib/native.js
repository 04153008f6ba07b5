'use strict'

// The private native half, an addon: a clone has that of its machine in prebuilt/<platform>-<arch>-<libc>/, and the
// package that is published is accompanied by one package for each machine, of which npm installs those that fit.

const { existsSync } = require('node:fs')
const path = require('node:path')
const { version, optionalDependencies = {} } = require('../package.json')

const machine = `${process.platform}-${process.arch}`
// Linux has two C libraries, and the addon of the other one does not load.
const names = process.platform === 'linux' ? [`${machine}-gnu`, `${machine}-musl`] : [machine]

function load() {
  let cause
  for (const name of names) {
    const prebuilt = path.join(__dirname, '..', 'prebuilt', name, 'millpond.node')
    const addons = existsSync(prebuilt) ? [prebuilt] : []
    if (`@millpond/${name}` in optionalDependencies) addons.push(`@millpond/${name}`)
    for (const addon of addons) {
      try {
        return require(addon)
      } catch (failure) {
        cause ??= failure
      }
    }
  }
  throw new Error(reason(cause), { cause })
}

/** Why there is no addon, and what helps. */
function reason(cause) {
  if (Object.keys(optionalDependencies).length === 0) {
    return (
      `millpond has no addon that loads on ${machine}, Node ${process.version}. In a clone of the ` +
      'repository "npm run build" in node/ builds one; it needs Rust.'
    )
  }
  const isGlibc = process.report.getReport().header.glibcVersionRuntime !== undefined
  const name = `@millpond/${names.find((name) => name.endsWith(isGlibc ? '-gnu' : '-musl')) ?? machine}`
  if (!(name in optionalDependencies)) return `millpond: there is no addon for ${name.slice('@millpond/'.length)} yet`
  if (cause && cause.code !== 'MODULE_NOT_FOUND') return `millpond: ${name} does not load: ${cause.message}`
  return (
    `millpond: the package ${name} is missing; npm leaves it out with --omit=optional and with a lock file ` +
    `from another system: npm install ${name}@${version}`
  )
}

module.exports = load()
