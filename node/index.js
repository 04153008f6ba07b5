'use strict'

const { connect, Client } = require('./lib/client.js')
const { ConsumerLease, Ick, IckChannel } = require('./lib/ick.js')
const { Batches, Claims, Garbage, Jobs, Messages } = require('./lib/loops.js')
const { VERSION: version } = require('./lib/native.js')
const { ShuffleConsumer, ShuffleQueue, shard } = require('./lib/shuffle.js')
const { Message } = require('./lib/message.js')
const { TaskStore } = require('./lib/tasks.js')
const { Doc, DocChange, Task, TaskChange } = require('./lib/changes.js')
const { Move, Release, Retry, TaskWorker } = require('./lib/task-worker.js')
const { Job } = require('./lib/job.js')
const { classes } = require('./lib/errors.js')

module.exports = {
  connect,
  version,
  Client,
  Ick,
  Batches,
  ConsumerLease,
  IckChannel,
  shard,
  ShuffleQueue,
  ShuffleConsumer,
  Messages,
  Garbage,
  Message,
  TaskStore,
  Task,
  TaskChange,
  Doc,
  DocChange,
  Claims,
  TaskWorker,
  Jobs,
  Job,
  Retry,
  Move,
  Release,
  ...classes
}
