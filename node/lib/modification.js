'use strict'

const check = require('./arguments.js')
const { DocChange, pushDocChange, pushTaskChange, TaskChange } = require('./changes.js')
const args = require('./task-arguments.js')

/** How each kind of entry is added to the lists, in the order in which they are read. */
const KINDS = {
  inserts: args.pushNewTask,
  changes: pushTaskChange,
  deletes: args.pushTaskId,
  depends: args.pushTaskId,
  docInserts: args.pushNewDoc,
  docPuts: args.pushPutDoc,
  docChanges: pushDocChange,
  docDeletes: args.pushDocId,
  docDepends: args.pushDocId
}

/** A name without what is easily mistaken in it: case, signs between words, and the plural. */
function bare(name) {
  return name.toLowerCase().replace(/\P{L}/gu, '').replace(/s$/, '')
}

/** The bare names of lists, of those of documents in either order of the words, and of the whole. */
const MEANT = new Set(['modification', ...Object.keys(KINDS).map(bare).flatMap(orders)])

function orders(name) {
  return name.startsWith('doc') ? [name, `${name.slice(3)}doc`] : [name]
}

const CHANGE = 'a change'

/** The lists of what modify() and the ends of a job resolve to, which is a result. */
const MODIFIED = ['inserted', 'changed', 'insertedDocs', 'changedDocs']

/** The task that a modification deletes beside its `deletes`, which spreading the object may replace. */
const OWN_DELETE = Symbol('millpond.ownDelete')

/** A modification that deletes this task, even when it is spread into an object with other deletes. */
function deleting(handle) {
  return { deletes: [handle], [OWN_DELETE]: handle }
}

/** The two lists of a modification. */
function entriesOf(argument, modification) {
  return listsOf(argument, modification, KINDS)
}

/**
 * Adds the return value of a handler to the entries, if it is a modification. Returns undefined for a result, and
 * refuses a value that is neither.
 */
function pushModification(value, entries) {
  // One with a list among other names is refused there, and the error names the other one.
  if (isModification(value) || hasList(value)) return listsOf('modification', value, KINDS, entries)
  const meant = meantAs(value)
  if (meant === CHANGE) throw refused(`${meant}, which is no modification: { changes: [change] } is one`)
  if (meant === undefined) return undefined
  const names = Object.keys(KINDS).join(', ')
  throw refused(`${meant}, which is no modification: return an object with only ${names}, or nothing`)
}

/** Refuses a modification, and a value that was meant as one, where a job ends without one, as `ends` says. */
function refuseModification(value, ends) {
  const meant = isModification(value) ? 'a modification' : meantAs(value)
  if (meant !== undefined) throw refused(`${meant}, and ${ends}`)
}

function refused(what) {
  return new TypeError(`the handler returned ${what}`)
}

/** Whether an object has lists of a modification, and nothing else. */
function isModification(value) {
  const names = Object.keys(value)
  const isList = (name) => isKind(name) && isObject(value[name])
  return OWN_DELETE in value || (names.length > 0 && names.every(isList))
}

function hasList(value) {
  return isPlain(value) && Object.keys(value).some((name) => isKind(name) && isObject(value[name]))
}

function isObject(value) {
  return typeof value === 'object' && value !== null
}

function isKind(name) {
  return Object.hasOwn(KINDS, name)
}

/** What a value was meant as that is no modification; undefined for a result. */
function meantAs(value) {
  const parts = Array.isArray(value) ? value : [value]
  if (parts.some((part) => part instanceof TaskChange || part instanceof DocChange)) return CHANGE
  const name = meantName(parts.filter(isPlain))
  if (name !== undefined) return `an object with ${name}`
  const names = isPlain(value) ? Object.keys(value) : []
  if (names.length === 0 || MODIFIED.every((name) => names.includes(name))) return undefined
  return names.every((name) => Array.isArray(value[name])) ? `an object with only lists, such as ${names[0]}` : undefined
}

/** The first name in these objects that is meant as one of a list. The number of rows that a database changed is a result. */
function meantName(objects) {
  const others = new Set()
  const namesOf = (object) => Object.keys(object).filter((name) => isObject(object[name]))
  for (const name of objects.flatMap(namesOf)) {
    if (others.has(name)) continue
    if (MEANT.has(bare(name))) return name
    others.add(name)
  }
}

/** Whether it is an object of no class, in any realm. */
function isPlain(value) {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** The two lists of the tasks and documents to renew. */
function heldOf(held) {
  return listsOf('held', held, { tasks: args.pushTaskId, docs: args.pushDocId })
}

/** For each kind the number of entries, and then the entries. */
function listsOf(argument, value, kinds, entries = new args.Entries()) {
  const given = args.known(argument, value, Object.keys(kinds))
  for (const kind in kinds) {
    const { [kind]: values = [] } = kind === 'deletes' ? { deletes: deletesOf(given) } : given
    const all = Array.from(check.iterable(kind, values, check.limits.tasks.MODIFICATION_ENTRIES_MAX))
    entries.push(all.length)
    all.forEach((value, index) => kinds[kind](entries, `${kind}[${index}]`, value))
  }
  return entries
}

function deletesOf({ deletes = [], [OWN_DELETE]: own }) {
  if (own === undefined) return deletes
  const all = Array.from(check.iterable('deletes', deletes, check.limits.tasks.MODIFICATION_ENTRIES_MAX))
  return all.some((task) => task?.id === own.id) ? all : [...all, own]
}

/** The two lists of one entry of this kind. */
function entriesOfOne(kind, value) {
  const entries = new args.Entries()
  for (const other in KINDS) {
    entries.push(other === kind ? 1 : 0)
    if (other === kind) KINDS[kind](entries, '', value)
  }
  return entries
}

module.exports = { deleting, entriesOf, entriesOfOne, heldOf, pushModification, refuseModification }
