// The same classes for both kinds of modules: this only names them.
import millpond from './index.js'

export const {
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
  Release
} = millpond
export * from './lib/generated/errors.mjs'
