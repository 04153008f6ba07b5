// Values of the protocol as Node has them, and what a request has for the parameters of a method; see node.mjs.

import { readFileSync } from 'node:fs'

import { Doc, Task } from '../../../node/index.mjs'

/** Node, or the package, cannot express this. */
export class Unsupported extends Error {}

const FLOATS = { inf: Infinity, '-inf': -Infinity, nan: NaN }
const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())
const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The names of the parameters of the methods of each class, and its fields, as the types of the package have them. */
const CLASSES = {}
const types = readFileSync(new URL('../../../node/index.d.ts', import.meta.url), 'utf8')
for (const [, name, body] of types.matchAll(/^export class (\w+)[^{]*\{\n(.*?)^\}/gms)) {
  const fields = [...body.matchAll(/^ {2}readonly (\w+)/gm)].map(([, field]) => field)
  CLASSES[name] = { fields, methods: methodsOf(body.replaceAll(/^ {2}(?=\w)/gm, '')) }
}
const FUNCTIONS = methodsOf(types.replaceAll(/^export function /gm, ''))

/** The parameters of the functions at the beginnings of lines; the most of those that have one name. */
function methodsOf(text) {
  const methods = {}
  for (const found of text.matchAll(/^(\w+)(?:<[^(]*>)?\(/gm)) {
    const names = parameters(text.slice(found.index + found[0].length))
    if (!(methods[found[1]]?.length > names.length)) methods[found[1]] = names
  }
  return methods
}

/** The names of parameters, from behind their parenthesis on. */
function parameters(text) {
  let depth = 0
  let names = ''
  for (const letter of text.replaceAll('=>', '')) {
    if (depth === 0 && letter === ')') break
    if ('([{<'.includes(letter)) depth += 1
    if (depth === 0) names += letter
    if (')]}>'.includes(letter)) depth -= 1
  }
  return names.split(',').map((part) => part.trim().match(/^\w+/)?.[0]).filter(Boolean)
}

/** A value of a request as Node has it. */
export function decoded(value) {
  if (Array.isArray(value)) return value.map(decoded)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  if (entries.length !== 1) return Object.fromEntries(entries.map(([name, part]) => [camel(name), decoded(part)]))
  const [[label, text]] = entries
  if (label === 'utf8') return Buffer.from(text)
  if (label === 'b64') return Buffer.from(text, 'base64')
  if (label === 'float') return FLOATS[text.toLowerCase()]
  if (label === 'int') return BigInt(text)
  if (label === 'string') return text
  throw new Unsupported(`Node has no ${label}`)
}

/** What is given by the names of the package. */
export function options(given, after = 'delayMs') {
  const named = ([name, value]) => {
    if (name === 'modification') return [name, modification(value)]
    if (name === 'pairs') return [name, pairs(value)]
    if (name === 'events' || name === 'schedules') return [name, value.map((one) => options(one))]
    const isBytes = value?.utf8 !== undefined || value?.b64 !== undefined
    if ((name === 'value' || name === 'content') && !isBytes) return ['json', decoded(value)]
    return [name === 'after_ms' ? after : camel(name), decoded(value)]
  }
  return Object.fromEntries(Object.entries(given).map(named))
}

/** Calls a method with what is given: its parameters, and the rest as options. */
export function made(on, call, given) {
  const method = camel(call)
  const { methods, fields } = CLASSES[on.constructor?.name] ?? {}
  if (fields?.includes(method)) return on[method]
  const names = methods?.[method] ?? FUNCTIONS[method]
  if (typeof on[method] !== 'function' || names === undefined) {
    throw new Unsupported(`the call ${call} is not known`)
  }
  const rest = options(given, on.constructor?.name === 'EventQueue' ? 'afterMs' : undefined)
  if (names[0] === 'schedule') return on[method](rest)
  const places = names.map((name) => {
    // The rest are options, wherever these are.
    if (name === 'options') return rest
    const value = rest[name]
    delete rest[name]
    return value
  })
  if (names.includes('options')) return on[method](...places)
  for (const name of Object.keys(rest)) throw new Unsupported(`the call ${call} takes no ${name}`)
  return on[method](...places)
}

/** The pairs of an add, [score, member]; a whole number that JSON cannot hold is a double all the same. */
function pairs(given) {
  if (given.some(([score]) => score === null)) throw new Unsupported('a score of null is the server\'s time')
  return given.map(decoded).map(([score, member]) => [typeof score === 'bigint' ? Number(score) : score, member])
}

function change({ task, set = {}, ...ends }) {
  const changed = new Task(options(task)).change()
  for (const [end, told] of Object.entries(ends)) changed[camel(end)](...[told].flat())
  const { no_value: isNone, ...settings } = set
  return changed.set({ ...options(settings), ...(isNone && { json: null }) })
}

/** The modification of these lists. */
export function modification(lists) {
  const made = ([name, entries]) => {
    if (name === 'changes') return [name, entries.map(change)]
    const docChange = ({ doc, set = {} }) => new Doc(options(doc)).change(options(set))
    return [camel(name), entries.map(name === 'doc_changes' ? docChange : (entry) => options(entry))]
  }
  return Object.fromEntries(Object.entries(lists).map(made))
}

/** A value of a response as JSON has it. */
export function encoded(value) {
  if (Buffer.isBuffer(value)) {
    const text = value.toString()
    return Buffer.from(text).equals(value) ? text : { b64: value.toString('base64') }
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return { float: Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf' }
  }
  if (Array.isArray(value)) return value.map(encoded)
  if (typeof value !== 'object' || value === null) return value
  const names = CLASSES[value.constructor?.name]?.fields ?? Object.keys(value)
  const json = value instanceof Doc ? 'content' : 'value'
  const shown = ('json' in value ? names.filter((name) => name !== json) : names)
    .filter((name) => value[name] !== undefined)
    .map((name) => [name === 'json' ? json : snake(name), encoded(value[name])])
  return Object.fromEntries(shown)
}
