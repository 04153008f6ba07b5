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

/** The task that a modification deletes beside its `deletes`, which spreading the object may replace. */
const OWN_DELETE = Symbol('millpond.ownDelete')

/** A modification that deletes this task, even when it is spread into an object with other deletes. */
function deleting(handle) {
  return { deletes: [handle], [OWN_DELETE]: handle }
}

/** The prototypes of plain objects: one without properties is a modification that does nothing. */
const PLAIN = [Object.prototype, null]

/** The two lists of a modification. */
function entriesOf(argument, modification) {
  return listsOf(argument, modification, KINDS)
}

/**
 * Adds the return value of a handler to the entries, if it is a modification: an object with the lists of a
 * modification. A change that is not in a modification is refused. For any other value, returns undefined.
 */
function pushModification(value, entries) {
  const parts = Array.isArray(value) ? value : [value]
  if (parts.some((part) => part instanceof TaskChange || part instanceof DocChange)) {
    throw new TypeError('the handler returned a change, which is no modification: { changes: [change] } is one')
  }
  const names = Object.keys(value)
  const isMeant =
    OWN_DELETE in value ||
    (PLAIN.includes(Object.getPrototypeOf(value)) && names.every((name) => name in KINDS)) ||
    names.some((name) => name in KINDS && typeof value[name] === 'object')
  return isMeant ? listsOf('modification', value, KINDS, entries) : undefined
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

module.exports = { deleting, entriesOf, entriesOfOne, heldOf, pushModification }
