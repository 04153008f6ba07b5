'use strict'

const check = require('./arguments.js')
const { pushDocChange } = require('./doc.js')
const { pushChange } = require('./task.js')
const args = require('./task-arguments.js')

/** How each kind of entry is put into the lists, in the order in which they are read. */
const KINDS = {
  inserts: args.pushNewTask,
  changes: pushChange,
  deletes: args.pushTaskId,
  depends: args.pushTaskId,
  docInserts: args.pushNewDoc,
  docPuts: args.pushPutDoc,
  docChanges: pushDocChange,
  docDeletes: args.pushDocId,
  docDepends: args.pushDocId
}

/** The two lists of a modification. */
function entriesOf(modification) {
  const given = args.known('modification', modification, Object.keys(KINDS))
  const entries = new args.Entries()
  for (const kind in KINDS) pushAll(entries, kind, KINDS[kind], given[kind])
  return entries
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
  const all = Array.from(check.iterable(kind, values, check.limits.entries))
  entries.push(all.length)
  all.forEach((value, index) => push(entries, `${kind}[${index}]`, value))
}

module.exports = { entriesOf, entriesOfOne, heldOf }
