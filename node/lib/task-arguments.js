'use strict'

// Checks descriptions of tasks and documents before anything is sent, and converts them to the two
// lists that the native half reads; see arguments.js.

const check = require('./arguments.js')
const { invalid } = require('./errors.js')
const { checkFaithful } = require('./json.js')
const options = require('./generated/options.js')

/** Texts and numbers, in the order in which the native half reads them. */
class Entries {
  texts = []
  numbers = []

  push(...values) {
    for (const value of values) (typeof value === 'number' ? this.numbers : this.texts).push(value)
  }
}

/** A JSON text; null is no text, as false is "not given". */
function textOrNone(argument, value) {
  return value === null ? false : check.text(argument, value)
}

/** A JSON text; null removes the value. */
function textOrNull(argument, value) {
  return value === null ? null : check.text(argument, value)
}

/** The JSON text of a value. */
function jsonOf(argument, value) {
  let written
  try {
    written = JSON.stringify(value)
    if (written !== undefined) checkFaithful(argument, value, written)
  } catch (error) {
    // A bigint, a cycle or too many levels; toJSON() of a value may throw anything.
    const isDeep = error?.message === 'Maximum call stack size exceeded'
    if (!(isDeep || error instanceof TypeError)) throw error
    throw invalid(`${argument} cannot be written as JSON: ${error.message}`)
  }
  if (written !== undefined) return written
  throw invalid(`${argument} has to be something that JSON has, not a ${typeof value}`)
}

const INSERT = { value: jsonOf, ...options.newTask, json: textOrNone }
/** The options of a task to insert, beside its queue and value. */
const INSERT_OPTIONS = Object.keys(options.newTask)
const CHANGE = { value: jsonOf, ...options.taskChange, json: textOrNull }
const DOC_INSERT = { content: jsonOf, ...options.newDoc, json: textOrNone }
const { skipColliding: _, ...DOC_PUT } = DOC_INSERT
const PUT_OPTIONS = Object.keys(DOC_PUT).filter((name) => name !== 'content')
const DOC_CHANGE = { content: jsonOf, ...options.docChange }

/** An object with only these names; any other name would silently do nothing. */
function known(path, given, names) {
  const unknown = Object.keys(object(path, given)).find((name) => !names.includes(name))
  if (unknown === undefined) return given
  const at = path === '' ? unknown : `${path}.${unknown}`
  throw invalid(`${at} is not known; there is ${names.join(', ')}`)
}

/** Of each of these groups, only one option can be set. */
const EITHER = [['value', 'json'], ['content', 'json'], ['atMs', 'delayMs', 'release']]

/**
 * The properties of an object, as steps of the native half, `[[name, checked value], …]`. `path` is
 * the object's position for error messages, if any, and `others` are further names that the object
 * may have.
 */
function settings(path, given, checks, others = []) {
  const at = (name) => (path === '' ? name : `${path}.${name}`)
  known(path, given, [...others, ...Object.keys(checks)])
  const said = []
  for (const name in checks) {
    const value = given[name]
    if (value === undefined) continue
    const checked = checks[name](at(name), value)
    if (checked !== false) said.push([name, checked])
  }
  for (const names of EITHER) {
    const both = said.map(([name]) => name).filter((name) => names.includes(name))
    if (both.length > 1) throw invalid(`${at(both[0])} and ${both[1]} cannot both be given`)
  }
  return said.map(step)
}

function step([name, value]) {
  if (value === null) return ['noValue']
  if (value === true) return [name]
  if (Array.isArray(value)) return [name, ...value]
  return [name === 'value' || name === 'content' ? 'json' : name, value]
}

/** The two lists of checked options. */
function stepsOf(checked) {
  const entries = new Entries()
  const given = Object.entries(checked).filter(([, value]) => value !== false)
  pushSteps(entries, given.map(step))
  return entries
}

/** The number of steps, and then their parts. */
function pushSteps(entries, steps) {
  entries.push(steps.length)
  for (const parts of steps) entries.push(...parts)
}

function object(argument, value) {
  if (typeof value === 'object' && value !== null) return value
  throw check.wrong(argument, 'an object', value)
}

function pushNewTask(entries, path, given) {
  object(path, given)
  entries.push(check.text(path === '' ? 'queue' : `${path}.queue`, given.queue))
  pushSteps(entries, settings(path, given, INSERT, ['queue']))
}

function pushNewDoc(entries, path, given) {
  pushDoc(entries, path, given, DOC_INSERT)
}

/** A document to put. */
function pushPutDoc(entries, path, given) {
  pushDoc(entries, path, given, DOC_PUT)
}

function pushDoc(entries, path, given, takes) {
  object(path, given)
  for (const name of ['namespace', 'key']) {
    entries.push(check.text(path === '' ? name : `${path}.${name}`, given[name]))
  }
  pushSteps(entries, settings(path, given, takes, ['namespace', 'key']))
}

/** A task, or its id and version. */
function pushTaskId(entries, path, given) {
  const { id, version } = object(path, given)
  entries.push(check.text(`${path}.id`, id))
  entries.push(check.wholeNumber(`${path}.version`, version))
}

/** A document, or its namespace, id and version. */
function pushDocId(entries, path, given) {
  entries.push(check.text(`${path}.namespace`, object(path, given).namespace))
  pushTaskId(entries, path, given)
}

module.exports = {
  CHANGE,
  DOC_CHANGE,
  Entries,
  INSERT_OPTIONS,
  PUT_OPTIONS,
  known,
  object,
  pushDocId,
  pushNewDoc,
  pushNewTask,
  pushPutDoc,
  pushSteps,
  pushTaskId,
  settings,
  stepsOf
}
