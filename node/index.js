'use strict'

const { connect, Client } = require('./lib/client.js')
const { Ick } = require('./lib/ick.js')
const { Batches } = require('./lib/batches.js')
const { ConsumerLease } = require('./lib/lease.js')
const { IckChannel } = require('./lib/channel.js')
const { VERSION: version } = require('./lib/native.js')
const { ShuffleQueue, shard } = require('./lib/shuffle.js')
const { ShuffleConsumer } = require('./lib/shuffle-consumer.js')
const { Messages } = require('./lib/shuffle-messages.js')
const { Garbage } = require('./lib/shuffle-garbage.js')
const { Message } = require('./lib/shuffle-results.js')
const { TaskStore } = require('./lib/tasks.js')
const { Task, TaskChange } = require('./lib/task.js')
const { Doc, DocChange } = require('./lib/doc.js')
const { Claims } = require('./lib/claims.js')
const { Move, Release, Retry, TaskWorker } = require('./lib/task-worker.js')
const { Jobs } = require('./lib/jobs.js')
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
