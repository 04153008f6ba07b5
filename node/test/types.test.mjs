// The declarations are those of the package: they hold for programs, and every name on one side is
// on the other.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import * as millpond from 'millpond'

import './limit.mjs'

const folder = fileURLToPath(new URL('types/', import.meta.url))
const generated = new URL('types/generated/', import.meta.url)

async function compile() {
  const tsc = fileURLToPath(new URL('../node_modules/.bin/tsc', import.meta.url))
  try {
    await promisify(execFile)(tsc, ['--project', folder])
    return ''
  } catch (failure) {
    return failure.stdout || failure.message
  }
}

const SYMBOLS = new Map([
  [Symbol.asyncIterator, 'typeof Symbol.asyncIterator'],
  [Symbol.asyncDispose, 'typeof Symbol.asyncDispose']
])

/** The names of what instances of a class have, as types. */
function publicNames(found) {
  const own = []
  for (let of = found.prototype; of !== Object.prototype; of = Object.getPrototypeOf(of)) {
    own.push(...Reflect.ownKeys(of).filter((name) => name !== 'constructor' && !own.includes(name)))
  }
  // Only these have public properties.
  if (found === millpond.Message) own.push(...Object.keys(new millpond.Message()))
  if (found === millpond.Job) own.push('task')
  if (found === millpond.ShuffleJob) own.push('message')
  if (found === millpond.EventJob) own.push('event')
  if (found === millpond.Task || found === millpond.Doc) own.push(...Object.keys(new found({})))
  return own.map((name) => SYMBOLS.get(name) ?? `'${name}'`)
}

/** Whether this is a class that other classes make; errors have other tests. */
function isHandle(found) {
  return found?.prototype !== undefined && !(found.prototype instanceof Error) && isClass(found)
}

function isClass(found) {
  return /^class /.test(Function.prototype.toString.call(found))
}

/** A program that compiles if the declarations have just the names that are there. */
function comparison() {
  const classes = Object.keys(millpond).filter((name) => isHandle(millpond[name]))
  const lines = [
    "import * as millpond from 'millpond'",
    'type Equal<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false',
    'function equal<A, B>(_: Equal<A, B>): void {}',
    `equal<keyof typeof millpond, ${union(Object.keys(millpond).map((name) => `'${name}'`))}>(true)`
  ]
  for (const name of classes) {
    lines.push(`equal<keyof millpond.${name}, ${union(publicNames(millpond[name]))}>(true)`)
  }
  return `${lines.join('\n')}\n`
}

function union(names) {
  return names.join(' | ')
}

after(() => rm(generated, { recursive: true, force: true }))

test('programs and names', { timeout: 120_000 }, async () => {
  await rm(generated, { recursive: true, force: true })
  await mkdir(generated)
  await writeFile(new URL('names.mts', generated), comparison())
  assert.equal(await compile(), '')
  // The comparison can fail: with one name less it does.
  await writeFile(new URL('names.mts', generated), comparison().replace(" | 'connect'", ''))
  assert.match(await compile(), /names\.mts.*not assignable/)
})

test('every kind of error has its own documentation', async () => {
  const declarations = await readFile(new URL('../index.d.ts', import.meta.url), 'utf8')
  for (const name of Object.keys(millpond).filter((one) => one.endsWith('Error'))) {
    assert.match(declarations, new RegExp(`\\*/\\nexport class ${name} extends`))
  }
})

test("the version is the core's", async () => {
  const described = await readFile(new URL('../package.json', import.meta.url), 'utf8')
  assert.equal(millpond.version, JSON.parse(described).version)
})
