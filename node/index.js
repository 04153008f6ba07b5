'use strict'

const { pushDocChange: _, pushTaskChange: __, ...changes } = require('./lib/changes.js')

module.exports = {
  version: require('./lib/native.js').VERSION,
  ...require('./lib/client.js'),
  ...require('./lib/ick.js'),
  ...require('./lib/loops.js'),
  ...require('./lib/shuffle.js'),
  ...require('./lib/message.js'),
  ...require('./lib/tasks.js'),
  ...changes,
  ...require('./lib/task-worker.js'),
  ...require('./lib/job.js'),
  ...require('./lib/errors.js').classes
}
