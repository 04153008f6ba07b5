// What there is of every queue, as tables: tests go through them row by row, and so do the threads and the programs
// that they start. A new queue adds its rows here, and has all those tests.

import { Task } from 'millpond'

/**
 * Queues. `open` makes the handle of a client's queue; `put` puts values into it, which are strings, each in one
 * step with the others; `size` counts what is in it, done or not, and has a result once earlier calls are under way.
 */
const ICK = {
  open: (client, name) => client.ick(name),
  put: (ick, ...values) => ick.add(values.map((value, index) => [index, value])),
  size: async (ick) => (await ick.stats())?.totalSize ?? 0
}
const CHANNEL = {
  open: (client, name) => client.ickChannel(name, 2),
  put: ICK.put,
  size: async (channel) => (await ICK.size(channel.ick(0))) + (await ICK.size(channel.ick(1)))
}
const SHUFFLE = {
  // On a cluster others' keys would be in other slots.
  open: (client, name) => client.shuffleQueue(name, { trackKeys: 'queue' }),
  put: (queue, ...values) => queue.writeMany(values.map((n) => ['tenant', { n }])),
  size: (queue) => queue.len()
}
// What one client has claimed others with this claimant can change.
const TASKS = {
  open: (client, name) => client.tasks(name, { claimant: 'somebody' }),
  put: (store, ...values) => store.modify({ inserts: values.map((value) => ({ queue: 'q', value })) }),
  size: async (store) => (await store.queues()).get('q') ?? 0
}
const EVENTS = {
  open: (client, name) => client.events(name),
  put: (queue, ...values) => queue.publishMany(values),
  size: async (queue) => (await queue.stats()).events
}
const VOLATILE = {
  open: (client, name) => client.volatileHash(name),
  put: (hash, ...values) => hash.setMany(values.map((value) => [value, value]), 60_000),
  size: (hash) => hash.len()
}
const TRACKER = {
  open: (client, name) => client.queueTracker(name),
  put: (tracker, ...values) => tracker.add(values),
  size: (tracker) => tracker.len()
}

const membersOf = (batch) => batch.map(([member]) => member)
const numbersOf = (messages) => messages.map(({ fields: [[, value]] }) => value)

/**
 * Loops. `loop` begins one that takes `max`, `waitMs` and `signal`; `valuesOf` is what is in a batch, and `settle`
 * ends that, which may have crossed a thread, unless it `isJob`. What `isShared` is never given to two loops.
 */
export const LOOPS = [
  {
    ...ICK,
    name: 'batches() of an Ick',
    loop: (ick, { max = 1, ...options }) => ick.batches(max, options),
    valuesOf: membersOf,
    settle: (ick, batch) => ick.commit(membersOf(batch))
  },
  {
    ...CHANNEL,
    name: 'batches() of an IckChannel',
    loop: (channel, { max = 1, ...options }) => channel.batches([0, 1], max, options),
    valuesOf: membersOf,
    settle: (channel, batch) =>
      Promise.all(membersOf(batch).map((member) => channel.ick(channel.ickOf(member)).commit([member])))
  },
  {
    ...SHUFFLE,
    name: 'messages() of a ShuffleConsumer',
    loop: (queue, { max = 1, ...options }) => consumerOf(queue).messages({ max, ...options }),
    valuesOf: numbersOf,
    settle: (queue, messages) => consumerOf(queue).ackAndDelete(messages),
    isShared: true
  },
  {
    ...TASKS,
    name: 'claims() of a TaskStore',
    loop: (store, options) => store.claims('q', options),
    valuesOf: (tasks) => tasks.map((task) => new Task(task).value),
    settle: (store, tasks) => store.modify({ deletes: tasks }),
    isShared: true
  },
  {
    ...TASKS,
    name: 'jobs() of a TaskWorker',
    loop: (store, { waitMs, signal }) => store.worker('q', { waitMs }).jobs({ signal }),
    valuesOf: (job) => [job.task.value],
    settle: (store, job) => job.done(),
    isShared: true,
    isJob: true
  },
  {
    ...EVENTS,
    name: 'deliveries() of an EventQueue',
    loop: (queue, options) => queue.deliveries(options),
    valuesOf: (events) => events.map(({ payload }) => `${Buffer.from(payload)}`),
    settle: (queue, events) => queue.ackMany(events),
    isShared: true
  }
]

/**
 * Workers. `worker` makes one whose jobs are deleted when they are done; `valueOf` is what a job is about, and
 * `attemptsOf` how often that was tried before; `leased` counts what is leased.
 */
export const WORKERS = [
  {
    ...SHUFFLE,
    name: 'a ShuffleWorker',
    worker: (queue, options) => consumerOf(queue).worker({ delete: true, ...options }),
    valueOf: (job) => job.message.field('n'),
    attemptsOf: (job) => job.message.deliveries - 1
  },
  {
    ...TASKS,
    name: 'a TaskWorker',
    worker: (store, options) => store.worker('q', options),
    valueOf: (job) => job.task.value,
    attemptsOf: (job) => job.task.attempt
  },
  {
    ...EVENTS,
    name: 'an EventWorker',
    worker: (queue, options) => queue.worker(options),
    valueOf: (job) => `${job.event.payload}`,
    attemptsOf: (job) => job.event.attempts - 1
  }
]

/**
 * Waits: `wait` takes `waitMs` and `signal` and resolves to the values that came, none when the time is over. One
 * that `isEndless` has no `waitMs`.
 */
export const WAITS = [
  ...LOOPS.map((row) => ({ ...row, wait: (queue, options) => next(row, row.loop(queue, options)) })),
  {
    ...SHUFFLE,
    name: 'read() of a ShuffleConsumer',
    wait: async (queue, options) => numbersOf([await consumerOf(queue).read(options)].filter(Boolean))
  },
  {
    ...SHUFFLE,
    name: 'readMany() of a ShuffleConsumer',
    wait: async (queue, options) => numbersOf(await consumerOf(queue).readMany(10, options))
  },
  ...WORKERS.map((row) => ({
    ...row,
    name: `run() of ${row.name}`,
    wait: (queue, { signal }) => runOnce(row, queue, signal),
    isEndless: true
  }))
]

function consumerOf(queue) {
  return queue.consumer('g', 'c')
}

/** The values of a loop's next batch; none once the loop is over. */
export async function next({ valuesOf }, loop) {
  const { done, value } = await loop.next()
  return done ? [] : valuesOf(value)
}

/** Has a worker run until it has done a job. */
async function runOnce({ worker, valueOf }, queue, signal) {
  const values = []
  const running = worker(queue)
  await running.run((job) => {
    values.push(valueOf(job))
    running.stop()
  }, { signal, stopOnSignals: false })
  return values
}

/** A slice, which is over. */
async function sliceOf(client, name) {
  const recruiter = client.recruiter(name)
  recruiter.setDutyMax(1)
  let found
  recruiter.install('a', { share: 1 }, (slice) => { found = slice })
  await recruiter.enlist()
  return found
}

const TASK = { id: 'none', version: 0 }
const RECEIPT = { stream: 0, id: '1-1' }
const ID = '0'.repeat(20)
const DELIVERY = { id: ID, token: new Uint8Array(8) }
const SCHEDULE = { id: 's', everyMs: 1000 }

/**
 * Calls: of each class how a client makes one, the arguments of each method that returns a promise and takes options
 * behind them, the arguments of each that makes a handle, and the names of those that take no options.
 */
export const CALLS = {
  Client: {
    open: (client) => client,
    calls: { close: [], taskStores: [] },
    handles: {
      ick: ['x'], ickChannel: ['x', 2], shuffleQueue: ['x'], tasks: ['x'], volatileHash: ['x'], volatileHashes: ['x'],
      queueTracker: ['x']
    },
    plain: ['events', 'recovery', 'recruiter']
  },
  Ick: {
    ...ICK,
    calls: {
      add: [['a']], reserve: [1], commit: [['a']], exchange: [1, ['a']], stats: [], peek: [1], delete: [],
      unlink: [], lease: [1000]
    },
    handles: { batches: [1] }
  },
  ConsumerLease: {
    open: (client, name) => client.ick(name).lease(60_000),
    calls: { reserve: [1], commit: [['a']], exchange: [1, ['a']], release: [] },
    handles: { batches: [1] }
  },
  IckChannel: {
    ...CHANNEL,
    calls: { add: [['a']] },
    handles: { batches: [[0, 1], 1] },
    plain: ['draining', 'ick', 'ickOf']
  },
  Batches: {
    async open(client, name) {
      await client.ick(name).add(['a'])
      const batches = client.ick(name).batches(1)
      await batches.next()
      return batches
    },
    calls: { commit: [] },
    plain: ['next', 'return']
  },
  ShuffleQueue: {
    ...SHUFFLE,
    calls: {
      write: ['t', { n: '1' }], writeMany: [[['t', { n: '1' }]]], writeTracked: ['t', { n: '1' }, 'n'],
      writeTrackedMany: [[['t', { n: '1' }]], 'n'], resize: [16], deleteTracked: ['1'],
      cordonDeadlineExceeded: [1000], len: [], backlog: [], pendingCount: ['g'], deadLetters: [1],
      deleteDeadLetters: ['1-1'], redrive: ['1-1'], removeIdleConsumers: [60_000], stats: ['g']
    },
    handles: { gc: [], consumer: ['g', 'c'] }
  },
  ShuffleConsumer: {
    open: (client, name) => consumerOf(client.shuffleQueue(name)),
    calls: {
      read: [], readMany: [1], ack: [RECEIPT], ackAndDelete: [RECEIPT], ackEach: [RECEIPT],
      ackAndDeleteEach: [RECEIPT], renew: [RECEIPT], release: [RECEIPT, 60_000], reject: [RECEIPT, 'no'],
      reclaim: [60_000, 1]
    },
    handles: { messages: [], worker: [] }
  },
  TaskStore: {
    ...TASKS,
    calls: {
      insert: ['q', 1], modify: [{ inserts: [{ queue: 'q' }] }], claim: ['q'], claimMany: ['q', 1],
      renew: [{ tasks: [TASK] }], cancel: [['none']], fetch: [['none']], list: ['q'], queues: [],
      areEmpty: [], queueStats: [], pause: ['q'], resume: ['q'], purge: ['q'],
      moveTasks: ['q', 'p'], redrive: ['q', 'p'], claimDocs: ['n', 'k'], getDoc: ['n', 'k'],
      putDoc: ['n', 'k', 1], fetchDocs: ['n', ['d']], listDocs: ['n'], namespaceStats: [], time: []
    },
    handles: { claims: ['q'], worker: ['q'] }
  },
  Job: {
    async open(client, name) {
      const store = client.tasks(name)
      await store.insert('q', 1)
      return (await store.worker('q').jobs().next()).value
    },
    calls: {
      claimDocs: ['n', 'k'], finish: [{ deletes: [TASK] }], done: [], fail: ['no'], retry: ['no'],
      moveTo: ['p', 'no'], release: []
    },
    plain: ['delete', 'leave']
  },
  EventQueue: {
    ...EVENTS,
    calls: {
      publish: ['x'], publishMany: [['x']], publishCall: ['x'], receive: [1], ack: [DELIVERY],
      ackMany: [[DELIVERY]], ackWith: [DELIVERY, ['x']], nack: [DELIVERY, 'no'], release: [DELIVERY],
      deadLetter: [DELIVERY, 'no'], renew: [DELIVERY], fetch: [ID], list: ['ready'], cancel: [ID],
      reschedule: [ID, 1000], rescheduleAtMs: [ID, 1000], redrive: [ID], redriveAll: [], purge: ['dead'],
      delete: [], stats: [], config: [], configure: [], pause: [], resume: [], reshard: [8], reshardStep: [8],
      putSchedule: [SCHEDULE], removeSchedule: ['s'], getSchedule: ['s'], listSchedules: [],
      pauseSchedule: ['s'], resumeSchedule: ['s'], triggerSchedule: ['s'],
      syncSchedules: ['app', 1, [SCHEDULE]]
    },
    handles: { deliveries: [], worker: [] }
  },
  VolatileHash: {
    ...VOLATILE,
    calls: {
      set: ['a', '1', 60_000], setMany: [{ a: '1' }, 60_000], setIfAbsent: ['a', '1', 60_000],
      setIfPresent: ['a', '1', 60_000], setLocked: ['a', 'me', '1', 60_000], setAndRelease: ['a', 'me', '1', 60_000],
      get: ['a'], getMany: [['a']], fields: [], ttl: ['a'], len: [], stats: [], touch: ['a', 60_000], delete: [['a']],
      clear: [], reap: [], acquire: ['a', 'me', 60_000], getOrAcquire: ['a', 'me', 60_000], lock: ['l', 60_000],
      renew: ['a', 'me', 60_000], release: ['a', 'me'], holder: ['a']
    }
  },
  FieldLock: {
    open: (client, name) => client.volatileHash(name).lock('a', 60_000),
    calls: { set: ['1', 60_000], release: [] }
  },
  VolatileHashes: {
    open: (client, name) => client.volatileHashes(name),
    calls: { reap: [] },
    plain: ['hash']
  },
  Recruiter: {
    open: (client, name) => client.recruiter(name),
    calls: { wake: ['a'], stats: [] },
    plain: ['enlist', 'install', 'onError', 'run', 'setDecisionTimeout', 'setDutyMax', 'stop', 'uninstall']
  },
  Slice: {
    open: sliceOf,
    calls: {},
    plain: ['abort', 'more']
  },
  QueueTracker: {
    ...TRACKER,
    calls: {
      scan: [() => []], prune: [() => []], add: [['a']], isQueued: ['a'], areQueued: [['a']], len: [], stats: [], ids: [],
      clear: [], beginScan: [], advance: ['', ['1'], ['a']], sample: [], remove: [[], ['a'], 1]
    }
  }
}
