'use strict'

// Builds the addon with cargo and puts it where lib/native.js looks for it. npm calls it in a clone,
// before it packs the package and when somebody installs the folder; the package that is packed
// carries the addon and has no script. MILLPOND_CARGO_PROFILE is the profile, release if it is not
// set.

const { execFileSync } = require('node:child_process')
const { copyFileSync, mkdirSync, renameSync } = require('node:fs')
const path = require('node:path')

const here = path.join(__dirname, '..')

function main() {
  const file = path.join(here, 'prebuilt', machine(), 'millpond.node')
  const built = build()
  mkdirSync(path.dirname(file), { recursive: true })
  // A program that has the old one loaded keeps it.
  copyFileSync(built, `${file}.new`)
  renameSync(`${file}.new`, file)
}

/** Builds the library; answers where it is. */
function build() {
  const profile = process.env.MILLPOND_CARGO_PROFILE || 'release'
  const messages = ['--message-format', 'json-render-diagnostics']
  const options = ['build', '--locked', '--profile', profile, '-p', 'millpond-node', ...messages]
  const built = run(process.env.CARGO || 'cargo', options)
  for (const line of built.split('\n').filter(Boolean)) {
    const message = JSON.parse(line)
    if (message.reason === 'compiler-artifact' && message.target.name === 'millpond_node') {
      return message.filenames.find((name) => /\.(so|dylib|dll)$/.test(name))
    }
  }
  throw new Error('cargo built no library')
}

/** The name of this machine, as lib/native.js has it, with the C library on Linux. */
function machine() {
  const host = /^host: (.*)$/m.exec(run(process.env.RUSTC || 'rustc', ['-vV']))[1]
  const libc = /-linux-(gnu|musl)/.exec(host)
  return [process.platform, process.arch, ...(libc ? [libc[1]] : [])].join('-')
}

function run(program, options) {
  try {
    const settings = { cwd: here, encoding: 'utf8', maxBuffer: 2 ** 28 }
    return execFileSync(program, options, { ...settings, stdio: ['ignore', 'pipe', 'inherit'] })
  } catch (failure) {
    // What the program has to say it has said by now.
    if (failure.code !== 'ENOENT') throw new Error(`${program} ${options[0]} has failed`)
    throw new Error(`building millpond needs Rust: there is no ${program}; see https://rustup.rs`)
  }
}

main()
