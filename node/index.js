'use strict'

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 4)) {
  throw new Error(`millpond needs Node 20.4 or later; this is ${process.versions.node}`)
}

const { pushDocChange: _, pushTaskChange: __, ...changes } = require('./lib/changes.js')
const { ManualClock } = require('./lib/clock.js')
const { Job } = require('./lib/job.js')
const { FieldLock, VolatileHash, VolatileHashes } = require('./lib/generated/handles.js')
const { Move, Reject, Release, Retry } = require('./lib/worker.js')

module.exports = {
  version: require('./lib/native.js').VERSION,
  ...require('./lib/client.js'),
  ...require('./lib/ick.js'),
  ...require('./lib/loops.js'),
  ...require('./lib/shuffle.js'),
  ...require('./lib/message.js'),
  ...require('./lib/tasks.js'),
  ...require('./lib/events.js'),
  ...changes,
  ...require('./lib/task-worker.js'),
  ...require('./lib/shuffle-worker.js'),
  ...require('./lib/event-worker.js'),
  ...require('./lib/recruiter.js'),
  ...require('./lib/tracker.js'),
  FieldLock,
  Job,
  ManualClock,
  Move,
  Reject,
  Release,
  Retry,
  VolatileHash,
  VolatileHashes,
  ...require('./lib/errors.js').classes
}
