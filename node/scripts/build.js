'use strict'

// Builds the addon with cargo and puts it where lib/native.js loads it from. npm calls it in a clone,
// before it packs the package and when the folder is installed; the package that is packed carries
// the addon and has no script. With --if-stale it does nothing where the addon is younger than its
// sources: a project that has installed the folder calls it at every `npm install`, and need not have
// Rust then. MILLPOND_CARGO_PROFILE is the profile, release if it is not set.

const { execFileSync } = require('node:child_process')
const { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, statSync, utimesSync } =
  require('node:fs')
const path = require('node:path')

const here = path.join(__dirname, '..')
const workspace = path.join(here, '..')

/** What the addon is made of. */
const SOURCES = [
  path.join(workspace, 'Cargo.toml'),
  path.join(workspace, 'Cargo.lock'),
  path.join(workspace, 'core'),
  path.join(here, 'Cargo.toml'),
  path.join(here, 'build.rs'),
  path.join(here, 'src')
]

function main() {
  if (process.argv.includes('--if-stale') && isFresh()) return
  const file = path.join(here, 'prebuilt', machine(), 'millpond.node')
  const began = new Date()
  console.error('millpond: compiling the core; the first time this takes minutes')
  const built = build()
  mkdirSync(path.dirname(file), { recursive: true })
  // A program that has the old one loaded keeps it.
  copyFileSync(built, `${file}.new`)
  // A source that was saved meanwhile is younger.
  utimesSync(`${file}.new`, began, began)
  renameSync(`${file}.new`, file)
}

/** Whether there is an addon for this machine that is younger than all of its sources. */
function isFresh() {
  const folder = path.join(here, 'prebuilt')
  const machine = `${process.platform}-${process.arch}`
  const names = existsSync(folder) ? readdirSync(folder) : []
  const fitting = names.filter((name) => name === machine || name.startsWith(`${machine}-`))
  const files = fitting.map((name) => path.join(folder, name, 'millpond.node')).filter(existsSync)
  const changed = Math.max(...SOURCES.map(lastChange))
  return files.some((file) => statSync(file).mtimeMs > changed)
}

/** When a file, or the youngest file in a folder, was changed. */
function lastChange(file) {
  const found = statSync(file)
  if (!found.isDirectory()) return found.mtimeMs
  return Math.max(0, ...readdirSync(file).map((name) => lastChange(path.join(file, name))))
}

/** Builds the library; returns where it is. */
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
