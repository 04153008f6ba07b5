'use strict'

const check = require('./arguments.js')
const { pushDocChange, pushTaskChange } = require('./changes.js')
const args = require('./task-arguments.js')

/** How each kind of entry is put into the lists, in the order in which they are read. */
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

/** The task that a modification deletes beside `deletes`, which an object that is spread may replace. */
const OWN_DELETE = Symbol('millpond.ownDelete')

/** A modification that deletes this task, also when it is spread into an object with other deletes. */
function deleting(handle) {
  return { deletes: [handle], [OWN_DELETE]: handle }
}

/** The two lists of a modification. */
function entriesOf(argument, modification) {
  const given = args.known(argument, modification, Object.keys(KINDS))
  const entries = new args.Entries()
  for (const kind in KINDS) {
    pushAll(entries, kind, KINDS[kind], kind === 'deletes' ? deletesOf(given) : given[kind])
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

/** The two lists of what is to be renewed. */
function heldOf(held) {
  const { tasks, docs } = args.known('held', held, ['tasks', 'docs'])
  const entries = new args.Entries()
  pushAll(entries, 'tasks', args.pushTaskId, tasks)
  pushAll(entries, 'docs', args.pushDocId, docs)
  return entries
}

/** How many there are, and those. */
function pushAll(entries, kind, push, values = []) {
  const all = Array.from(check.iterable(kind, values, check.limits.tasks.MODIFICATION_ENTRIES_MAX))
  entries.push(all.length)
  all.forEach((value, index) => push(entries, `${kind}[${index}]`, value))
}

module.exports = { deleting, entriesOf, entriesOfOne, heldOf }
