// What users write, and what the declarations refuse.

import {
  type Added,
  Batches,
  Claims,
  Client,
  connect,
  type DeadLetter,
  DependencyError,
  type Duty,
  type JobCounts,
  Doc,
  type DocHandle,
  type DocPage,
  type Entry,
  type Event,
  type EventPage,
  EventQueue,
  EventWorker,
  FieldLock,
  type FieldPage,
  type FieldPosition,
  type Fields,
  Garbage,
  type HashField,
  Ick,
  IckChannel,
  Job,
  Jobs,
  type Message,
  MillpondError,
  type Modification,
  type Modified,
  Move,
  type Pruned,
  QueueTracker,
  type Reaped,
  Reject,
  type NamespaceStats,
  type NewTask,
  type QueueStats,
  type Receipt,
  type Reclaimed,
  Recruiter,
  type RecruiterStats,
  Release,
  type Renewed,
  type Report,
  Retry,
  type Sample,
  type Scanned,
  shard,
  ShuffleConsumer,
  type Messages,
  ShuffleQueue,
  type ShuffleStats,
  Slice,
  type Stats,
  Task,
  TaskChange,
  type TaskHandle,
  type TaskPage,
  TaskStore,
  TaskWorker,
  TimeoutError,
  type Tracked,
  type TrackerRow,
  type TrackerStats,
  type ValueOrLock,
  version,
  VolatileHash,
  VolatileHashes
} from 'millpond'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function same<A, B>(_: Same<A, B>): void {}

const client = await connect('memory:', { timeoutMs: 1000, clientName: 'x' })
same<typeof client, Client<string>>(true)
const buffers = await connect('memory:', { returnBuffers: true })
same<typeof buffers, Client<Buffer>>(true)
const either = await connect('memory:', { returnBuffers: Math.random() < 0.5 })
same<typeof either, Client<string> | Client<Buffer>>(true)

const ick = client.ick('x')
same<typeof ick, Ick<string>>(true)
const inBuffers = client.ick(new Uint8Array(), { returnBuffers: true })
same<typeof inBuffers, Ick<Buffer>>(true)
const inStrings = buffers.ick('x', { returnBuffers: false })
same<typeof inStrings, Ick<string>>(true)
const asTheClient = buffers.ick('x', {})
same<typeof asTheClient, Ick<Buffer>>(true)

const pairs = [[1, 'a'], [null, Buffer.from('b')], 'c'] as const
const added = await ick.add(pairs)
same<typeof added, Added>(true)
await ick.add(new Map([[1, 'a']]))
await ick.add((function* () { yield 'a' })())
const batch = await ick.reserve(10n, { backwash: true })
same<typeof batch, Entry<string>[]>(true)
const [member, score] = batch[0]!
same<[typeof member, typeof score], [string, number]>(true)
same<Awaited<ReturnType<typeof inBuffers.peek>>, Entry<Buffer>[]>(true)
const stats = await ick.stats({ signal: AbortSignal.timeout(1000) })
same<typeof stats, Stats<string> | null>(true)
const count: number = await ick.commit(['a', Buffer.from('b')])
await ick.exchange(10, new Set(['a']), { backwash: false })
await ick.peek(10, { set: 'consumer' })
const removed: number = (await ick.delete()) + (await ick.unlink())

for await (const entries of inBuffers.batches(10, { waitMs: Infinity })) {
  same<typeof entries, Entry<Buffer>[]>(true)
}
const batches: Batches = ick.batches(1)
const next = await batches.next()
if (!next.done) same<typeof next.value, Entry<string>[]>(true)
const iterable: AsyncIterable<Entry[]> = batches
const committed: number = await batches.commit()

const lease = await ick.lease(30_000)
if (lease !== null && !lease.isLost) {
  await using held = lease
  for await (const entries of held.batches(10)) same<typeof entries, Entry<string>[]>(true)
  await fetch('http://localhost', { signal: held.signal })
  const was: boolean = await held.release()
}

const channel: IckChannel = client.ickChannel('x', 4)
await channel.draining(8).add(pairs)
await client.ickChannel('x', 4n).draining(8n).ick(1n).add(['a'])
const shards: number = channel.ickOf('a') + channel.shards + channel.readable
for await (const entries of channel.batches([0, 1], 10)) same<typeof entries, Entry<string>[]>(true)
same<ReturnType<typeof channel.ick>, Ick<string>>(true)

const queue = client.shuffleQueue('jobs', { streams: 64, streamsPerShard: 4, ttlMs: 60_000 })
same<typeof queue, ShuffleQueue<string>>(true)
const queueInBuffers = client.shuffleQueue('jobs', { returnBuffers: true, trackKeys: 'queue' })
same<typeof queueInBuffers, ShuffleQueue<Buffer>>(true)
same<ReturnType<typeof buffers.shuffleQueue>, ShuffleQueue<string> | ShuffleQueue<Buffer>>(true)
const streams: number[] = shard(16, 4, 'tuna').concat(shard(16n, 4n, 'tuna'))

const receipt = await queue.write('tenant', { a: '1', b: Buffer.from('2') })
same<typeof receipt, Receipt>(true)
const fields: Fields = [['a', '1'], ['a', new Uint8Array()]]
await queue.write(Buffer.from('tenant'), fields, { signal: AbortSignal.timeout(1000) })
await queue.write('tenant', new Map([['a', '1']]))
await queue.write('tenant', new URLSearchParams('a=1'))
const written: Receipt[] = await queue.writeMany([['a', { n: '1' }], ['b', [['n', '2']]]])
await queue.writeTracked('tenant', { id: '1' }, 'id', { deadline: new Date() })
const deleted: Receipt | null = await queue.deleteTracked('1')
same<Awaited<ReturnType<typeof queueInBuffers.cordonDeadlineExceeded>>, Buffer[]>(true)
const cordoned: (string | Buffer)[] = await queue.cordonDeadlineExceeded(1_000)
for (const value of cordoned) await queue.deleteTracked(value)
const garbage: Garbage = queue.gc({ timeDigits: 6 })
for await (const values of garbage) same<typeof values, string[]>(true)
const looked: number = garbage.scanned + garbage.deleted
const shuffleStats: ShuffleStats = await queue.stats('g')
const oldest: number | null = shuffleStats.streams[0]!.oldestIdleMs
const letters: DeadLetter[] = await queue.deadLetters(10)
const lengths: number = (await queue.len()) + (await queue.backlog()) + (await queue.pendingCount('g'))

const options = { preferStream: 1, defaultStream: true, maxDeliveries: 5n }
const consumer: ShuffleConsumer = queue.consumer('g', Buffer.from('c'), options)
const message = await consumer.read({ waitMs: 1000 })
same<typeof message, Message<string> | null>(true)
const field: string | null = message!.field('a')
const deliveries: number = message!.deliveries
same<Message['bytes'], [field: Buffer, value: Buffer][]>(true)
same<Awaited<ReturnType<ShuffleConsumer<Buffer>['readMany']>>, Message<Buffer>[]>(true)
const loop: Messages = consumer.messages({ max: 10, waitMs: Infinity })
for await (const batch of loop) {
  same<typeof batch, Message<string>[]>(true)
  const acknowledged: number = await consumer.ackAndDelete(batch)
}
await consumer.ack(message!)
await consumer.renew([receipt, message!])
await consumer.ack({ stream: null, id: '1-1' })
const reclaimed: Reclaimed = await consumer.reclaim(60_000, 10)

const events: EventQueue = client.events('orders')
const published = await events.publish('paid', { key: Buffer.from('c'), delayMs: 1, dedupId: 'x', ifExists: 'replace' })
const became: 'created' | 'duplicate' | 'replaced' = published.status
await events.publishMany(['a', new Uint8Array(), { payload: 'b', atMs: Date.now(), headers: { a: '1' } }])
const received: Event[] = await events.receive(10, { signal: AbortSignal.timeout(1000) })
for await (const batch of events.deliveries({ max: 10, waitMs: Infinity })) same<typeof batch, Event[]>(true)
await events.ack(received[0]!)
await events.nack({ id: published.id, token: Buffer.alloc(6) }, 'why', { afterMs: 5 })
const held: ('lost' | 'held' | 'cancelled')[] = await events.renew(received)
const cancelled: ('gone' | 'removed' | 'running')[] = await events.cancel([published, published.id], { alsoRunning: true })
const deadPage: EventPage = await events.list('dead', { limit: 10 })
const reason: 'rejected' | 'exhausted' | 'crashed' | null = deadPage.events[0]!.reason
const eventWorker: EventWorker = events.worker({ concurrency: 4, timeoutMs: 1 })
await eventWorker.run(async ({ event, signal }) => {
  signal.throwIfAborted()
  same<typeof event.payload, Buffer>(true)
}, { onEvent: ({ job }) => console.log(job?.event.id) })

const hash: VolatileHash = client.volatileHash('pages')
const hashOfBuffers: VolatileHash<Buffer> = client.volatileHash(Buffer.from('pages'), { returnBuffers: true })
const sameHash = buffers.volatileHash('pages')
same<typeof sameHash, VolatileHash<Buffer>>(true)
await hash.set('/', Buffer.from('1'), 1_500.5, { signal: AbortSignal.timeout(1000) })
for (const all of [{ a: '1' }, new Map([['a', new Uint8Array()]]), [['a', '1']] as const]) await hash.setMany(all, 1000)
const value = await hash.get('/')
same<typeof value, string | null>(true)
const values = await hashOfBuffers.getMany(new Set(['/', Buffer.from('/a')]))
same<typeof values, (Buffer | null)[]>(true)
const leftMs: number | null = await hash.ttl('/')
const hashPage: FieldPage = await hash.fields({ limit: 10n, omitValues: true })
const hashField: HashField = hashPage.fields[0]!
const nextFields = await hashOfBuffers.fields({ after: hashField })
same<typeof nextFields.next, FieldPosition<Buffer> | null>(true)
const lock: FieldLock | null = await hash.lock('/', 10_000)
if (lock !== null && !lock.isLost) {
  await using held = lock
  const fence: number = held.fence
  await held.set(Buffer.from(`${fence}`), 1000, { signal: held.signal })
}
const family: VolatileHashes = client.volatileHashes('carts', { shards: 16n })
const cart: VolatileHash = family.hash('ann')
const { more }: Reaped = await family.reap({ limit: 10 })
const familyOfBuffers = client.volatileHashes('carts', { returnBuffers: true })
same<typeof familyOfBuffers, VolatileHashes<Buffer>>(true)
await hash.fields({ after: nextFields.next ?? { expiresUs: 1, field: '/' } })
const found: ValueOrLock = await hash.getOrAcquire('/', 'req-1', 1000)
const wait: number | null = found.remainingMs
const fence: number | null = (await hash.acquire('/', Buffer.from('req-1'), 1000)).fence
const holder: string | undefined = (await hash.holder('/'))?.token
const nextInMs: number | null = (await hash.reap({ limit: 100 })).nextInMs

const recruiter: Recruiter = client.recruiter('site')
recruiter.install('mail', { perSecond: 2, burst: 5n, budgetMs: 20, maxRunning: 3, leaseMs: 1_000, idleMaxMs: 1_000 }, async (slice) => {
  same<typeof slice, Slice>(true)
  if (slice.isOver || slice.isLost) slice.abort()
  slice.more()
  return slice.fence + slice.remainingMs
})
recruiter.install('cache', { share: 0.1 }, () => {})
recruiter.install('pages', { share: 0.1 }, () => 5n)
recruiter.install('files', { share: 0.1 }, async ({ job }) => job === 'files')
recruiter.onError((job, error) => console.error(job ?? 'no job', error))
const duty: Duty = await recruiter.enlist({ budgetMs: 20 })
if (!duty.recruited && duty.why !== 'not_due') console.log(duty.job, duty.tookMs)
const wasInstalled: boolean = recruiter.isDue && recruiter.uninstall('mail')
recruiter.setDutyMax(0.1)
recruiter.setDecisionTimeout(20)
await recruiter.wake('mail', { signal: AbortSignal.timeout(1000) })
const recruiterStats: RecruiterStats = await recruiter.stats()
const items: number = recruiterStats.jobs[0]!.items
await recruiter.run({ stopOnSignals: false, signal: AbortSignal.timeout(1000) })
recruiter.stop()

const tracker: QueueTracker = client.queueTracker('orders')
const trackerOfBuffers: QueueTracker<Buffer> = client.queueTracker(Buffer.from('orders'), { returnBuffers: true })
const sameTracker = buffers.queueTracker('orders')
same<typeof sameTracker, QueueTracker<Buffer>>(true)
const table: { number: number; customer: string | null }[] = []
const scanned: Scanned = await tracker.scan(async (after, limit) => {
  same<[typeof after, typeof limit], [string | null, number]>(true)
  return table.map(({ number, customer }) => [number, customer])
}, { limit: 10n, roundMinMs: 0.5, signal: AbortSignal.timeout(1000) })
const rows: TrackerRow[] = [[1, 'ann'], ['x', Buffer.from('bob')], [3n, null]]
for (const all of [rows, new Set(rows), new Map([[1, 'ann']])]) await tracker.scan(() => all)
await tracker.scan(function* () { yield [1, 'ann'] })
const pruned: Pruned = await tracker.prune((ids) => ids.filter((id) => id.startsWith('a')), { limit: 10 })
await trackerOfBuffers.prune(async (ids) => new Set(ids.map((id) => id.subarray(0))), { limit: 10n })
await tracker.add(['ann', Buffer.from('bob')], { signal: AbortSignal.timeout(1000) })
const isQueued: boolean = await tracker.isQueued('ann')
const areQueued: boolean[] = await tracker.areQueued(new Set(['ann', new Uint8Array()]))
const trackedCount: number = (await tracker.len()) + (await tracker.clear())
const trackerStats: TrackerStats = await tracker.stats()
const trackedIds: Tracked[] = await tracker.ids({ after: 5n, limit: 10 })
await trackerOfBuffers.ids({ after: trackedIds[0]!.stamp })
const begun = await tracker.beginScan({ limit: 2, roundMinMs: 1000 })
await tracker.advance(begun.row ?? '', ['1', Buffer.from('2')], ['ann', ''], { limit: 2 })
const sample: Sample<Buffer> = await trackerOfBuffers.sample({ limit: 10 })
const sampleRemoved: number = (await tracker.remove(['ann'], sample.ids, sample.stamp)).removed

const store: TaskStore = client.tasks('shop', { claimant: 'me' })
const sameForBuffers = buffers.tasks('shop')
same<typeof sameForBuffers, TaskStore>(true)
const task = await store.insert('inbox', { order: 7 }, { priority: 5, delayMs: 1_000 })
same<typeof task, Task>(true)
const skipped = await store.insert('inbox', 1, { id: 'a', skipColliding: true })
same<typeof skipped, Task | null>(true)
await store.insert('inbox')
await store.insert('inbox', undefined, { json: '1', signal: AbortSignal.timeout(1_000) })
const claimed: Task | null = await store.claim('inbox', { leaseMs: 1_000 })
const several: Task[] = await store.claimMany(['a', 'b'], 10n)
const order: number = claimed!.value.order
const raw: string | null = claimed!.json
const expires: number | null = claimed!.expiresMs
const change: TaskChange = task.change({ queue: 'x', json: null, atMs: 5n }).retry('x')
change.set({ value: 1 }).retryOrQuarantine('x', 'y', 3).quarantine('x', 'y')
const newTask: NewTask = { queue: 'q', value: [1], ttlMs: 1_000 }
const doc: Doc = new Doc({ namespace: 'n', id: 'd' })
const modification: Modification = {
  inserts: new Set([newTask]),
  changes: [change],
  deletes: several,
  depends: [{ id: 'a', version: 1 }],
  docInserts: [{ namespace: 'n', key: 'k', content: { a: 1 } }],
  docPuts: [{ namespace: 'n', key: 'l', content: 1, secondaryKey: 's' }],
  docChanges: [doc.change({ content: 1, release: true }).set()],
  docDeletes: [doc],
  docDepends: [{ namespace: 'n', id: 'd', version: 1 }]
}
const modified: Modified = await store.modify(modification, { signal: AbortSignal.timeout(1_000) })
const again: Task = new Task(structuredClone({ ...modified.changed[0]! }))
const renewed: Renewed = await store.renew({ tasks: [task], docs: [doc] }, { leaseMs: 1_000 })
const handles: [TaskHandle[], DocHandle[]] = [renewed.tasks, renewed.docs]
const fetched: Task[] = await store.fetch(new Set(['a']))
const page: TaskPage = await store.list('inbox', { limit: 10, omitValues: true })
await store.list('inbox', { after: page.next ?? page.tasks[0] })
const docPage: DocPage = await store.listDocs('n', { start: 'a', end: 'b', omitContents: true })
await store.listDocs('n', { after: docPage.next ?? doc })
same<Awaited<ReturnType<typeof store.queues>>, Map<string, number>>(true)
const areEmpty: boolean = await store.areEmpty({ exact: ['q'], prefixes: new Set(['x']) })
const queueStats: QueueStats[] = await store.queueStats()
const namespaceStats: NamespaceStats[] = await store.namespaceStats({ limit: 5 })
const leased: Doc[] = (await store.claimDocs('n', 'k')).concat(await store.fetchDocs('n', ['d']))
const put: Doc = await store.putDoc('n', 'k', { a: 1 }, { id: 'd', signal: AbortSignal.timeout(1_000) })
const got: Doc | null = await store.getDoc('n', 'k', { secondaryKey: 's' })
const now: number = await store.time()
const claims: Claims = store.claims('inbox', { max: 10, waitMs: Infinity })
for await (const batch of claims) same<typeof batch, Task[]>(true)
const worker: TaskWorker = store.worker(['inbox'], { backoffMs: 1, maxAttempts: 3n, errorQueue: 'x' })
const jobs: Jobs = worker.jobs()
for await (const job of jobs) {
  same<typeof job, Job>(true)
  await job.finish({ ...job.delete(), inserts: [newTask] })
  const ended: Modified = await job.retry('x', { delayMs: 5 })
  await job.moveTo('q')
  const held: Doc[] = await job.claimDocs('n', 'k')
  await fetch('http://localhost', { signal: job.signal })
  job.leave()
}
await worker.run(() => {})
await worker.run(async (job) => job.delete())
await worker.run((job) => job.moveTo('x'))
const drained: JobCounts = await worker.drain((job) => (job.isLost ? null : { deletes: [job.handle] }))
worker.stop(drained.done)
await worker.run(async ({ task }) => {
  if (task.attempt > 3) throw new Move('aside', 'x')
  if (task.claims > 3) throw new Release()
  if (task.attempt > 2) throw new Reject('x', { cause: new Error() })
  throw new Retry('x', { delayMs: 5, cause: new Error() })
})
await worker.run(() => 5, {
  stopOnSignals: true,
  stopWithinMs: 5,
  onError: async (job, error) => job?.task.id ?? error,
  onEvent: ({ kind, job, error }: Report) => (kind === 'lost' ? error?.code : job?.task.id)
})

// Payloads of a type: of a store, of the queues of a worker or a claim, of documents.
interface Order { order: number }
interface Invoice { invoice: number }
interface Account { balance: number }
const shop = client.tasks<Order | Invoice>('shop')
same<typeof shop, TaskStore<Order | Invoice>>(true)
const typed: Task<Order | Invoice> = await shop.insert('inbox', { order: 7 })
await shop.modify({ inserts: [{ queue: 'outbox', value: { invoice: 7 } }] })
const fetchedOf: Task<Order | Invoice>[] = await shop.fetch(['a'])
const one = await shop.claim<Order>('inbox')
same<typeof one, Task<Order> | null>(true)
for await (const batch of shop.claims<Invoice>('outbox')) same<typeof batch, Task<Invoice>[]>(true)
const listed: TaskPage<Order> = await shop.list<Order>('inbox')
await shop.worker<Order>('inbox').run(async (job) => {
  same<typeof job, Job<Order>>(true)
  const value: number = job.task.value.order
  const [account] = await job.claimDocs<Account>('accounts', 'ann')
  if (account === undefined) return
  const content = { balance: account.content.balance - value }
  return { ...job.delete(), docChanges: [account.change({ content })] }
}, { onError: (job, error) => console.error(job?.task.value.order, error) })
const gotOf: Doc<Account> | null = await shop.getDoc<Account>('accounts', 'ann')
const putOf: Doc<Account> = await shop.putDoc('accounts', 'ann', { balance: 7 })
const pageOf: DocPage<Account> = await shop.listDocs<Account>('accounts')
const kept = new Task<Order>(structuredClone({ ...typed, value: undefined }))
same<typeof kept.value, Order>(true)
// A task of any type is one of each, and one of a type is one of any.
const anyTask: Task = kept
const ofOrders: Task<Order> = anyTask

// What handlers may return.
interface Row { id: number; changes: string[]; insert?: string }
class Found {
  inserts = 3
  private rows: Row[] = []
}
declare const row: Row
declare const json: { [name: string]: unknown }
declare function anyhow(): unknown
await worker.run(console.log)
await worker.run(anyhow)
await worker.run(() => 'inserts')
await worker.run(async () => 7n)
await worker.run(async () => {})
await worker.run(async ({ signal }) => (await fetch('x', { signal })).json())
await worker.run(({ signal }) => fetch('x', { signal }))
await worker.run(async (job) => { throw new Error(job.task.err) })
await worker.run(async ({ task }) => (task.attempt > 3 ? new Move('x') : new Retry()))
await worker.run(() => new Reject())
await worker.run(() => new Release())
await worker.run(async () => ({}))
await worker.run(async () => ({ total: 42, items: [1], address: { insert: [] } }))
await worker.run(async () => ({ inserted: 3, changed: 1, deleted: 0 }))
await worker.run(async () => [1, 2])
await worker.run(async () => [{ id: 1 }, { total: 2 }])
await worker.run(async () => [new Found(), row])
await worker.run(async () => row)
await worker.run(async () => new Found())
await worker.run(async () => new Map([['insert', 1]]))
await worker.run(async () => new Set([1]))
await worker.run(async () => new URLSearchParams())
await worker.run(async () => Buffer.from('x'))
await worker.run(async () => json)
await worker.run(async () => JSON.parse('{}'))
await worker.run(async () => [JSON.parse('{}')])
await worker.run((job) => job.done())
await worker.run((job) => store.modify({ deletes: [job.handle] }))
await worker.run(async (job): Promise<Modification> => ({ ...job.delete(), inserts: [newTask] }))
await worker.run(async (job): Promise<Modification | undefined> => (job.isLost ? undefined : {}))
await worker.run((job) => ({ changes: [job.task.change({ queue: 'x' })], inserts: new Set([newTask]) }))
await worker.run(async () => ({ inserts: [{ queue: 'x', value: 1, headers: [['a', 'b']] }], deletes: undefined }))
await worker.run(async (job) => {
  if (job.isLost) return
  if (job.isCancelled) return { total: 42 }
  if (job.task.attempt > 1) return { rows: [1], more: false }
  const { docs } = await store.listDocs('accounts')
  return { ...job.delete(), docChanges: docs.map((doc) => doc.change({ release: true })) }
})
const shuffleWorker = consumer.worker()
await shuffleWorker.run(async () => ({ total: 42, rows: [1] }))
await shuffleWorker.run(({ message }) => fetch(message.id))
await eventWorker.run(async () => ({}))
await eventWorker.run(() => new Map([['insert', 1]]))
await eventWorker.run(({ event }) => events.ackWith(event, ['next']))
const results: (() => unknown) | (() => Promise<void>) = anyhow
await worker.drain(results)

// What is not given may be undefined.
function given(signal?: AbortSignal, max?: number, leaseMs?: number) {
  client.shuffleQueue('jobs', { ttlMs: leaseMs, streams: max })
  store.worker('q', { leaseMs, maxAttempts: max, errorQueue: undefined }).jobs({ signal })
  new Retry('x', { delayMs: leaseMs })
  return store.claims('q', { max, leaseMs, signal })
}

const error: unknown = new TimeoutError('x', { operation: 'ick.add' })
if (error instanceof MillpondError) {
  const code: string = error.code
  const number: number = error.number + TimeoutError.number
  const retry: 'never' | 'later' | 'unknown' = error.retry
}
if (error instanceof DependencyError) {
  const missing: [TaskHandle[], DocHandle[]] = [error.deletes, error.docClaims]
  const isLater: boolean = error.onlyClaims
}
const text: string = version
await client.close()

// @ts-expect-error a member is no number
await ick.add([[1, 2]])
// @ts-expect-error a score is no string
await ick.add([['1', 'a']])
// @ts-expect-error a string is not several members
await ick.commit(1)
// @ts-expect-error a size is no string
await ick.reserve('1')
// @ts-expect-error there is no such set
await ick.peek(1, { set: 'both' })
// @ts-expect-error there is no such option
ick.batches(1, { wait: 1 })
// @ts-expect-error times are numbers
await ick.lease('30s')
// @ts-expect-error a lease may be held by another consumer
lease.release()
// @ts-expect-error there may be no Ick
stats.psetSize
// @ts-expect-error strings have no method of Buffers
batch[0]?.[0].readUInt8()
// @ts-expect-error made by a client
new Ick()
// @ts-expect-error values are no numbers
await queue.write('tenant', { a: 1 })
// @ts-expect-error a string has no fields
await queue.write('tenant', 'ab')
// @ts-expect-error times say what they are in
client.shuffleQueue('jobs', { ttl: 60 })
// @ts-expect-error there may be no message
const none: unknown = (await consumer.read()).field('a')
// @ts-expect-error an id alone does not say where the message is
await consumer.ack('1-1')
// @ts-expect-error made by a queue
new ShuffleConsumer()
// @ts-expect-error times say what they are in
await events.publish('paid', { delay: 1 })
// @ts-expect-error an id alone does not say who holds the event
await events.ack(published.id)
// @ts-expect-error no such state
await events.list('waiting')
// @ts-expect-error made by a queue
new EventWorker()
// @ts-expect-error a field does not live forever
await hash.set('/', '1')
// @ts-expect-error values are no numbers
await hash.setMany({ a: 1 }, 1000)
// @ts-expect-error it may not be there
const length: number = (await hash.get('/')).length
// @ts-expect-error several fields are an iterable
await hash.delete(5)
// @ts-expect-error made by a client
new VolatileHash()
// @ts-expect-error another may hold the lock
await (await hash.lock('/', 1000)).set('1', 1000)
// @ts-expect-error what is set through a lock expires as well
await lock?.set('1')
// @ts-expect-error shards are a number
client.volatileHashes('carts', { shards: '16' })
// @ts-expect-error there may be no task
claimed.value
// @ts-expect-error tasks are changed by what change() makes
await store.modify({ changes: [task] })
// @ts-expect-error there is no such list
await store.modify({ delete: [task] })
// @ts-expect-error an id alone has no version
await store.modify({ deletes: ['a'] })
// @ts-expect-error a document has a namespace
await store.modify({ docDeletes: [task] })
// @ts-expect-error fields are copies
task.queue = 'x'
// @ts-expect-error times say what they are in
await store.claim('inbox', { lease: 30 })
// @ts-expect-error no such kind of report
await worker.run(() => {}, { onEvent: ({ kind }) => kind === 'failed' })
// @ts-expect-error a filter has names
await store.areEmpty()
// @ts-expect-error made by a store
new TaskWorker()
// @ts-expect-error no list of a modification
await worker.run(async () => ({ insert: [{ queue: 'invoices', value: 1 }] }))
// @ts-expect-error names are in camel case
await worker.run(() => ({ Inserts: [newTask] }))
// @ts-expect-error names are in camel case
await worker.run(async () => ({ INSERTS: [newTask] }))
// @ts-expect-error names are in camel case
await worker.run(async () => ({ doc_inserts: [{ namespace: 'a', key: 'b' }] }))
// @ts-expect-error the other order
await worker.run(async () => ({ insertDocs: [{ namespace: 'a', key: 'b' }] }))
// @ts-expect-error a modification has no name
await worker.run(async () => ({ modification: { inserts: [newTask] } }))
// @ts-expect-error a typo beside a list
await worker.run(async (job) => ({ ...job.delete(), insrts: [newTask] }))
// @ts-expect-error a typo beside a list
await worker.run((job) => ({ deletes: [job.handle], insert: [newTask] }))
// @ts-expect-error a typo beside a result
await worker.run(async () => ({ ok: true, depend: [] }))
// @ts-expect-error only lists
await worker.run(async () => ({ insrts: [newTask] }))
// @ts-expect-error a count is no list
await worker.run(async () => ({ inserts: 3 }))
// @ts-expect-error a count under the name of a list
await worker.run(async () => ({ changes: 1, lastInsertRowid: 7 }))
// @ts-expect-error a task has a queue
await worker.run(async () => ({ inserts: [{ value: 1 }] }))
// @ts-expect-error a change is no modification
await worker.run((job) => job.task.change({ queue: 'x' }))
// @ts-expect-error several are none either
await worker.drain(async (job) => [job.task.change({ queue: 'x' })])
// @ts-expect-error nor is an array with one
await worker.drain(async () => [{ inserts: [newTask] }])
// @ts-expect-error one of several results
await worker.drain(async (job) => {
  if (job.isLost) return
  if (job.isCancelled) return { total: 42 }
  return { insert: [newTask] }
})
// @ts-expect-error a message ends without a modification
await shuffleWorker.run(async () => ({ inserts: [newTask] }))
// @ts-expect-error a message ends without a modification
await shuffleWorker.drain((): Modification => ({}))
// @ts-expect-error nor with what is none
await shuffleWorker.drain(async () => ({ insert: [newTask] }))
// @ts-expect-error an event ends without a modification
await eventWorker.run(() => ({ inserts: [newTask] }))
// @ts-expect-error an event ends without a modification
await eventWorker.drain(async (): Promise<Modification | void> => {})
// @ts-expect-error nor with what is none
await eventWorker.run(async () => ({ doc_inserts: [] }))
// @ts-expect-error no part of the package
type Part = import('millpond').Fault<unknown, never>
// @ts-expect-error values of another type
await shop.insert('inbox', { account: 7 })
// @ts-expect-error values of another type
await shop.modify({ inserts: [{ queue: 'inbox', value: 7 }] })
// @ts-expect-error a value may be an invoice
const notOrder: Task<Order> = typed
// @ts-expect-error contents of another type
putOf.change({ content: { order: 7 } })
// @ts-expect-error a promise
connect('memory:').ick('x')
// @ts-expect-error a signal is not its controller
await ick.add(['a'], { signal: new AbortController() })
// @ts-expect-error the code does not change
new TimeoutError().code = 'X'
// @ts-expect-error there is no default export
import millpond from 'millpond'
// @ts-expect-error a job needs options
recruiter.install('mail', () => {})
// @ts-expect-error a result is a number or a truth
recruiter.install('mail', { share: 1 }, () => 'sent')
// @ts-expect-error times say what they are in
recruiter.install('mail', { share: 1, budget: 20 }, () => {})
// @ts-expect-error a duty is shared
duty.why = 'worked'
// @ts-expect-error made by a client
new Recruiter()
// @ts-expect-error a scan needs a function
await tracker.scan([[1, 'ann']])
// @ts-expect-error a row has an id
await tracker.scan(() => [[1]])
// @ts-expect-error an id is no number
await tracker.scan(() => [[1, 7]])
// @ts-expect-error an id that is undefined may be a misspelt name
await tracker.scan(() => [[1, undefined]])
// @ts-expect-error times say what they are in
await tracker.scan(() => [], { roundMin: 60 })
// @ts-expect-error a prune has no rounds
await tracker.prune((ids) => ids, { roundMinMs: 60 })
// @ts-expect-error a prune says which ids are done
await tracker.prune((ids) => ids.length)
// @ts-expect-error several ids are an iterable
await tracker.add(5)
// @ts-expect-error there may be no row
begun.row.length
// @ts-expect-error made by a client
new QueueTracker()
