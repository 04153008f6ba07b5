'use strict'

// What the results of the native half about tasks mean; see results.js.

const records = require('./generated/records.js')
const { of } = require('./reader.js')
require('./doc.js')
require('./task.js')

const { modified } = records

module.exports = {
  doc: of((reader) => reader.maybe(records.doc)),
  docPage: of(records.docPage),
  docs: of((reader) => reader.some(records.doc)),
  /** The task of one insert; null if it was skipped. */
  inserted: of((reader) => modified(reader).inserted[0] ?? null),
  modified: of(modified),
  namespaceStats: of((reader) => reader.some(records.namespaceStats)),
  /** The document of one put. */
  putDoc: of((reader) => modified(reader).insertedDocs[0]),
  queueStats: of((reader) => reader.some(records.queueStats)),
  renewed: of(records.renewed),
  /** A Map of queues and their sizes. */
  sizes: of((reader) => new Map(reader.some(() => [reader.one(), reader.one()]))),
  task: of((reader) => reader.maybe(records.task)),
  /** A task and what the native half has of its job. */
  taskAndJob: of((reader) => ({ task: records.task(reader), native: reader.one() })),
  taskPage: of(records.taskPage),
  tasks: of((reader) => reader.some(records.task))
}
