/// <reference types="node" />

/** The version of this package and of the core in it. */
export const version: string

/**
 * A name, a member or a value: a string, which is encoded as UTF-8, or bytes. A Buffer is a
 * Uint8Array.
 */
export type Member = string | Uint8Array

/**
 * A score and a member. If the score is null, or only a member is passed, the score is the server's
 * time in seconds, with microseconds. A score is any number except NaN; the lowest comes first.
 */
export type Pair = Member | readonly [score: number | null, member: Member]

/** A member and its score, as batches hold them. */
export type Entry<T extends string | Buffer = string> = [member: T, score: number]

/** What an add changed. */
export interface Added {
  //! fields ick.Added
}

/** The sizes and score ranges of an Ick. A range of an empty set is null. */
export interface Stats<T extends string | Buffer = string> {
  /** The version flag, `ick.v1`. */
  ver: string
  /** The name, which is the key of the flag. */
  key: T
  /** The key of the producer set. */
  psetKey: T
  /** The key of the consumer set. */
  csetKey: T
  /** Members that are flagged and not reserved. */
  psetSize: number
  /** Members that are reserved and not committed. */
  csetSize: number
  /** The sum of both; a member that is in both sets counts twice. */
  totalSize: number
  /** The lowest score of the producer set. */
  psetMin: number | null
  /** The highest score of the producer set. */
  psetMax: number | null
  /** The lowest score of the consumer set. */
  csetMin: number | null
  /** The highest score of the consumer set. */
  csetMax: number | null
  /** The lowest score of both sets. */
  totalMin: number | null
  /** The highest score of both sets. */
  totalMax: number | null
}

/** Options of every call that waits for a server or a disk. */
export interface CallOptions {
  /**
   * Stops waiting: the call rejects with the signal's reason, which is an `AbortError` by default.
   * If the signal is aborted before the call, nothing is sent. A call that is aborted later may or
   * may not take effect, as after a {@link TimeoutError}: check before you repeat it.
   */
  signal?: AbortSignal | undefined
}

/** Options for the types in results. */
export interface ResultOptions {
  /**
   * Whether names, members, fields and values in results are Buffers instead of strings. A string
   * cannot hold bytes that are not UTF-8: if a result contains such bytes, the call rejects with a
   * TypeError with code `ERR_ENCODING_INVALID_ENCODED_DATA`, and a batch stays reserved. A message
   * of a shuffle queue is returned anyway, and throws that error when it is read; see
   * {@link Message}. Task stores hold text and always return strings.
   */
  returnBuffers?: boolean | undefined
}

/** Options of {@link connect}, beside the URL. */
export interface ConnectOptions extends ResultOptions, CallOptions {
  /** The user; goes with a password. */
  username?: string | undefined
  /** The password, as it is: nothing is unescaped. */
  password?: string | undefined
  /**
   * The clock of an embedded engine, for tests; by default the system's. Clients that share an engine share its clock:
   * a client without one uses the engine's, and a client with a different one is refused with
   * {@link InvalidArgumentError}. A clock for a server is refused as well, since the server has its own time.
   */
  clock?: ManualClock | undefined
  //! settings
}

/**
 * Connects to a server or opens an embedded engine.
 *
 * | URL | what |
 * | --- | --- |
 * | `memory:` | embedded, gone with the client |
 * | `memory:name` | embedded, shared in the process, by its Workers too |
 * | `file:dir` | embedded and durable, in this directory |
 * | `redis://user:password@host:6379/db` | one server; `rediss:` for TLS |
 * | `redis+unix:///path/to/socket` | one server on a Unix socket |
 * | `redis+sentinel://host,host2/service/db` | follows failovers |
 * | `redis+cluster://host,host2` | Redis Cluster |
 *
 * The URL can hold more options, as in `?tls_ca=ca.pem`. A Redis client connects when it first has
 * something to send. An embedded engine reads its log on a separate thread, so the event loop is
 * not blocked, however long that takes.
 *
 * @throws {InvalidUrlError} for an unknown URL, or an unknown option in it.
 * @throws {LockedError} if another process holds the directory; to share queues between processes, use `redis:`.
 * @throws {CorruptError} if the directory is damaged or lacks what was on disk, unless the URL says
 * `?repair`.
 *
 * @example
 * import { connect } from 'millpond'
 *
 * const client = await connect('memory:')
 * console.log(await client.ick('files').add([[1, 'a.txt']])) //=> { new: 1, lowered: 0 }
 * await client.close()
 */
export function connect(
  url: string,
  options?: ConnectOptions & { returnBuffers?: false | undefined }
): Promise<Client<string>>
export function connect(
  url: string,
  options: ConnectOptions & { returnBuffers: true }
): Promise<Client<Buffer>>
export function connect(
  url: string,
  options: ConnectOptions
): Promise<Client<string> | Client<Buffer>>

/**
 * A clock for tests, which stands still until it is told to move: what is due in an hour becomes due when the clock is
 * advanced by an hour, and callers that wait for it are woken. An embedded engine is opened with it, as the `clock` of
 * {@link ConnectOptions}.
 *
 * The engine uses it for times, delays and leases. Everything else follows the system's time: how long a call waits, a
 * worker's timeout, and when a lease is renewed. So an advance by more than a lease ends that lease, as if its holder
 * had been stopped for that long.
 *
 * @example
 * import { connect, ManualClock } from 'millpond'
 *
 * const clock = new ManualClock(Date.UTC(2026, 0, 1))
 * const client = await connect('memory:', { clock })
 * clock.advance(60_000)
 * console.log(new Date(await client.tasks('shop').time())) //=> 2026-01-01T00:01:00.000Z
 * await client.close()
 */
export class ManualClock {
  /**
   * Makes a clock that is set to this time, or to the present. A time after the year 9999 becomes the end of
   * that year.
   *
   * @param nowMs in whole milliseconds since the Unix epoch
   */
  constructor(nowMs?: number)

  /** The time that it shows, in milliseconds since the Unix epoch. */
  readonly nowMs: number

  /**
   * Moves the clock forward, at most to the end of the year 9999, and wakes callers that wait for what is due then.
   *
   * @param timeMs by how much, in milliseconds
   */
  advance(timeMs: number): void
}

/** What opening a `file:` found; from {@link Client.recovery}. */
export interface Recovery {
  //! fields client.Recovery
}

/**
 * A server or an embedded engine, with access to its queues; made by {@link connect}. A program
 * ends when no call is in progress, even if clients are open.
 */
export class Client<T extends string | Buffer = string> {
  private constructor()

  tasks<T = any>(name: Member, options?: TaskStoreOptions): TaskStore<T>

  /**+
   * @example
   * import { connect } from 'millpond'
   *
   * const client = await connect('memory:')
   * console.log(client.recovery()) //=> null
   * await client.close()
   */
  recovery(): Recovery | null

  /**
   * Closes the client: from now on calls reject with {@link ClosedError}. What an embedded engine
   * has buffered is written, on a separate thread. The garbage collector closes a client that is no
   * longer referenced.
   *
   * @throws {StorageError} if the disk refuses the last write.
   */
  close(options?: CallOptions): Promise<void>

  /** {@link close}, at the end of the block of an `await using`. */
  [Symbol.asyncDispose](): Promise<void>

  //! methods
}

/**
 * A dirty list with write-folding and two-phase commit; made by {@link Client.ick}.
 *
 * For sync pipelines (database to search index, crawlers, repair jobs): producers flag documents as
 * dirty; one consumer takes batches, processes them, and commits. A document that is flagged again
 * while it is processed is processed again. A document that is flagged often does not move back in
 * the order, since a member keeps its lowest score.
 *
 * All calls reject with {@link WrongTypeError} or {@link IncompatibleVersionError} if the keys hold
 * something else, and with the errors of the connection.
 *
 * @example
 * import { connect } from 'millpond'
 *
 * const ick = (await connect('memory:')).ick('files')
 * console.log(await ick.add([[2, 'b.txt'], [1, 'a.txt']])) //=> { new: 2, lowered: 0 }
 * console.log(await ick.reserve(10)) //=> [ [ 'a.txt', 1 ], [ 'b.txt', 2 ] ]
 * await ick.add([[3, 'a.txt']]) // dirty again while it is being worked on
 * console.log(await ick.commit(['a.txt', 'b.txt'])) //=> 2
 * console.log(await ick.reserve(10)) //=> [ [ 'a.txt', 3 ] ]
 */
export class Ick<T extends string | Buffer = string> {
  private constructor()

  peek(
    max: number | bigint,
    options?: CallOptions & { set?: 'producer' | 'consumer' | undefined }
  ): Promise<Entry<T>[]>

  //! methods
}

/** The methods of every loop. */
export interface Loop<B> {
  /**
   * The next batch, or the next job. Request one at a time. After an error that a retry can fix, the next call
   * continues the loop. A signal that has aborted stays aborted, and every further call rejects with its reason.
   */
  next(): Promise<IteratorResult<B, undefined>>

  /** Ends the loop; called by `break`. The last batch of an Ick stays reserved. */
  return(): Promise<IteratorResult<B, undefined>>

  /** The loop itself. */
  [Symbol.asyncIterator](): this

  /** {@link Loop.return}, at the end of the block of an `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Options of a loop. */
export interface WaitOptions extends CallOptions {
  /**
   * How long to wait when there is nothing, in milliseconds. The time starts again for each batch; Infinity waits
   * without limit. If omitted, the loop ends when there is nothing left. All waiting callers in a process share one
   * connection, and each arrival wakes one of them.
   */
  waitMs?: number | undefined
}

/** Options of a loop over batches of members. */
export interface BatchesOptions extends WaitOptions {}

export interface Batches<T extends string | Buffer = string> extends Loop<Entry<T>[]> {}
/**
 * A consumer's loop; made by `batches` of an Ick, a channel or a lease. Requesting the next batch
 * commits the previous one, in the same round trip.
 *
 * A loop that is left by an exception or by `break` leaves its batch reserved: the next reserve
 * returns it again. {@link commit} commits it. A signal that aborts while the loop waits ends the
 * loop with the signal's reason; a batch that was already in transit is returned by the next call.
 *
 * @example
 * import { connect } from 'millpond'
 *
 * const ick = (await connect('memory:')).ick('files')
 * await ick.add([[1, 'a.txt'], [2, 'b.txt'], [3, 'c.txt']])
 * for await (const batch of ick.batches(2)) {
 *   console.log(batch)
 *   //=> [ [ 'a.txt', 1 ], [ 'b.txt', 2 ] ]
 *   //=> [ [ 'c.txt', 3 ] ]
 * }
 * console.log((await ick.stats()).totalSize) //=> 0
 */
export class Batches<T extends string | Buffer = string> {
  private constructor()

  commit(options?: CallOptions): Promise<number>
}

/**+
 * The garbage collector releases a lease that is no longer referenced; if the process dies, the lease expires.
 *
 * @example
 * import { connect } from 'millpond'
 *
 * const ick = (await connect('memory:')).ick('files')
 * await ick.add([[1, 'a.txt']])
 * const lease = await ick.lease(30_000)
 * console.log(await ick.lease(30_000)) //=> null
 * for await (const batch of lease.batches(100)) {
 *   console.log(batch) //=> [ [ 'a.txt', 1 ] ]
 * }
 * console.log(await lease.release()) //=> true
 */
export class ConsumerLease<T extends string | Buffer = string> {
  private constructor()

  readonly isLost: boolean

  /**
   * Aborts, with a {@link LeaseLostError}, if the lease is lost before it is released; pass it to the calls of your
   * work. It keeps neither the lease nor the program alive.
   */
  readonly signal: AbortSignal

  //! method release

  /** {@link release}, at the end of the block of an `await using`. */
  [Symbol.asyncDispose](): Promise<void>

  //! methods
}

/**+
 * @example
 * import { connect } from 'millpond'
 *
 * const channel = (await connect('memory:')).ickChannel('files', 4)
 * console.log(await channel.add([[1, 'a.txt'], [2, 'b.txt'], [3, 'c.txt']]))
 * //=> { new: 3, lowered: 0 }
 * let seen = 0
 * for await (const batch of channel.batches([0, 1, 2, 3], 100)) seen += batch.length
 * console.log(seen) //=> 3
 */
export class IckChannel<T extends string | Buffer = string> {
  private constructor()

  readonly shards: number

  readonly readable: number

  draining(earlier: number | bigint): IckChannel<T>

  //! methods
}

/**
 * Where a message is; acknowledging takes this. A {@link Message} works as well, even one that was
 * sent to a Worker.
 */
export interface Receipt {
  /** The number of the stream; null for the default stream, at the queue's own name. */
  readonly stream: number | null
  /** The message's id in the stream, such as `'1700000000000-3'`: the server's time, and a number. */
  readonly id: string
}

/**
 * The contents of a message: an object, a Map, or fields and their values in order, where a field
 * may occur twice. In an object, JavaScript puts keys that are whole numbers first.
 */
export type Fields =
  | Iterable<readonly [field: Member, value: Member]>
  | { readonly [field: string]: Member }

/**
 * A message that was delivered to a consumer.
 *
 * If a queue returns strings, a message that is not UTF-8 does not affect others: it is returned
 * with those that were read with it, and only reading its text throws. Its `bytes` can be read, and
 * it can be acknowledged, renewed and reclaimed like any other.
 *
 * @example
 * import { connect } from 'millpond'
 *
 * const queue = (await connect('memory:')).shuffleQueue('jobs')
 * await queue.write('tenant-7', { n: '1', digest: Buffer.from([0xff]) })
 *
 * const consumer = queue.consumer('workers', 'worker-1')
 * const message = await consumer.read()
 * try {
 *   console.log(message.fields)
 * } catch (error) {
 *   if (error.code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error
 *   console.log(message.field('n'), message.bytes[1][1]) //=> 1 <Buffer ff>
 *   await consumer.ack(message)
 * }
 */
export class Message<T extends string | Buffer = string> implements Receipt {
  private constructor()

  /** The number of the stream that it came from; null for the default stream. */
  readonly stream: number | null
  /** Its id in that stream, such as `'1700000000000-3'`. */
  readonly id: string
  /**
   * Its fields and their values, as they were written. If strings are wanted and one of them is not
   * UTF-8, reading this throws a TypeError with code `ERR_ENCODING_INVALID_ENCODED_DATA`, and so
   * does copying the message, for example to a Worker: send its stream and id instead.
   */
  readonly fields: [field: T, value: T][]
  /** A new list of its fields and their values as Buffers, whatever the queue returns. */
  readonly bytes: [field: Buffer, value: Buffer][]
  /** How often it was delivered, this time included: 1 after a read, more after a reclaim. */
  readonly deliveries: number

  /**
   * The value of the first field with this name, or null. Throws as `fields` does, but only if this
   * value is not UTF-8.
   */
  field(name: Member): T | null
}

export interface StreamStats {
  //! fields shuffle.StreamStats
}

export interface ShuffleStats {
  //! fields shuffle.Stats
}

/**
 * A message that was delivered too often without being acknowledged, and its history. Reading
 * `group` or `consumer` throws if strings are wanted and it is not UTF-8, as reading the fields of
 * a {@link Message} does; a queue with `returnBuffers` returns both.
 */
export interface DeadLetter<T extends string | Buffer = string> {
  //! fields shuffle.DeadLetter
}

/** What {@link ShuffleConsumer.reclaim} took over. */
export interface Reclaimed<T extends string | Buffer = string> {
  //! fields shuffle.Reclaimed
}

/** Options of {@link Client.shuffleQueue}. */
export interface ShuffleQueueOptions { //! shuffle.ShuffleQueue
  //! settings
}

/** Options of {@link ShuffleQueue.consumer}. */
export interface ShuffleConsumerOptions { //! shuffle.ShuffleConsumer
  //! settings
}

/** Options of a tracked write. */
export interface TrackedOptions extends CallOptions {
  /**
   * The deadline, as a Date or in whole seconds since the Unix epoch, up to 2^53. By default it is
   * the server's time plus the queue's `ttlMs`, or plus a day if the queue has none. The number 0
   * also means the default, as in every language; a Date at the epoch is a deadline that has
   * passed.
   */
  deadline?: Date | number | bigint | undefined
}

/** Options of a collection. */
export interface GarbageOptions extends CallOptions { //! shuffle.Garbage
  //! settings
}

/** Options of a read. */
export interface ReadOptions extends CallOptions {
  /**
   * How long to wait for a message when there is none, in milliseconds; Infinity waits without
   * limit. If omitted, the call returns immediately. A wait that is aborted takes nothing, unless a
   * message is already in transit: that message is pending; see {@link ShuffleConsumer.reclaim}.
   */
  waitMs?: number | undefined
}

/** Options of the loop of a consumer. */
export interface MessagesOptions extends WaitOptions {
  /** The most messages in a batch, 1 to 10,000; 100 by default. */
  max?: number | bigint | undefined
}

/** Options of the workers of all queues. */
export interface WorkerOptions {
  /** How many jobs run at a time, 1 or more; 10 by default. */
  concurrency?: number | bigint | undefined
  /**
   * How many more jobs are taken ahead, so that one step takes several; 0 by default. A stop gives back those that have
   * not begun.
   */
  prefetch?: number | bigint | undefined
  /**
   * How long a handler may run, in milliseconds; without limit by default. After that the job's signal aborts and the
   * job has failed, whatever happens to the handler's promise.
   */
  timeoutMs?: number | undefined
}

/** Options of {@link ShuffleConsumer.worker}. */
export interface ShuffleWorkerOptions extends WorkerOptions { //! shuffle.Worker
  /**
   * How long a message is delayed after its first failure, in milliseconds; 30,000 by default. Then twice as long with
   * each delivery up to `backoffMaxMs`, each time minus a random part of up to a half.
   */
  backoffMs?: number | undefined
  /** The longest such delay, in milliseconds; the lease by default, and never longer. */
  backoffMaxMs?: number | undefined
  //! settings -concurrency -prefetch -timeoutMs
}

/**
 * The streams of a tenant: `streamsPerShard` of `streams`, in the order in which ties between them
 * are broken. They are the same in every language. Sends nothing.
 *
 * @throws {InvalidArgumentError} for 0 or more than 65,536 streams, for a shard of 0 streams or
 * more than there are, and for an empty key.
 *
 * @example
 * import { shard } from 'millpond'
 *
 * console.log(shard(16, 4, 'tuna')) //=> [ 15, 13, 2, 12 ]
 */
export function shard(
  streams: number | bigint,
  streamsPerShard: number | bigint,
  shardKey: Member
): number[]

/**
 * A queue that many tenants share, where one tenant's burst delays only that tenant; made by
 * {@link Client.shuffleQueue}.
 *
 * A queue consists of several streams. A tenant, which is named by a *shard key*, may write to only
 * a few of them, and each message goes to the one of these that has the least to do; consumers read
 * from all streams in turn. So a tenant that writes a thousand times more than the others fills its
 * own streams, and the other tenants have other streams.
 *
 * All calls reject with {@link WrongTypeError} if a key holds something else, with {@link
 * CrossSlotError} on a cluster if the name has no `{tag}`, with {@link InvalidArgumentError} for
 * an empty name or invalid settings, and with the errors of the connection.
 *
 * @example
 * import { connect } from 'millpond'
 *
 * const client = await connect('memory:')
 * const queue = client.shuffleQueue('jobs', { streams: 64, streamsPerShard: 4 })
 * await queue.write('tenant-7', { task: 'resize', image: 'a.png' })
 *
 * const consumer = queue.consumer('workers', 'worker-1')
 * const message = await consumer.read()
 * console.log(message.field('image'), message.fields)
 * //=> a.png [ [ 'task', 'resize' ], [ 'image', 'a.png' ] ]
 * await consumer.ackAndDelete(message)
 * console.log(await queue.backlog()) //=> 0
 */
export class ShuffleQueue<T extends string | Buffer = string> {
  private constructor()

  /**+
   * @example
   * import { connect } from 'millpond'
   *
   * const queue = (await connect('memory:')).shuffleQueue('jobs')
   * const receipt = await queue.writeTracked('tenant-7', { job: 'j-1', task: 'resize' }, 'job')
   * const deleted = await queue.deleteTracked('j-1')
   * console.log(deleted.id === receipt.id, await queue.len()) //=> true 0
   */
  //! method writeTracked

  /**+
   * @example
   * import { connect } from 'millpond'
   *
   * const queue = (await connect('memory:')).shuffleQueue('jobs')
   * const messages = [['tenant-7', { job: 'j-1' }], ['tenant-8', { job: 'j-2' }]]
   * const receipts = await queue.writeTrackedMany(messages, 'job')
   * console.log((await queue.deleteTracked('j-2')).id === receipts[1].id) //=> true
   */
  //! method writeTrackedMany

  /**+
   * @example
   * import { connect } from 'millpond'
   *
   * const queue = (await connect('memory:')).shuffleQueue('jobs')
   * await queue.write('tenant-7', { image: 'a.png' })
   * console.log(await queue.resize(64)) //=> 64
   */
  //! method resize

  /**
   * Takes the values whose deadline passed within this time, in milliseconds (only whole seconds
   * count), out of the deadlines. This happens in one step, so that each value goes to only one of
   * several callers. Returns them ordered by deadline; a value that is not UTF-8 is always a
   * Buffer, since it is not returned again. From then on they are garbage; their messages stay
   * until they are deleted.
   *
   * After an error or an abort, values may be cordoned that no caller received; {@link gc} returns
   * them again.
   */
  cordonDeadlineExceeded(withinMs: number, options?: CallOptions): Promise<(T | Buffer)[]>

  /**+
   * @example
   * import { connect } from 'millpond'
   *
   * const queue = (await connect('memory:')).shuffleQueue('jobs')
   * console.log(await queue.deleteDeadLetters(await queue.deadLetters())) //=> 0
   */
  //! method deleteDeadLetters

  //! methods
}

/**
 * One consumer in a consumer group of a queue; made by {@link ShuffleQueue.consumer}.
 *
 * Delivery is at least once: a delivered message is *pending*. It belongs to its consumer until it
 * is acknowledged; reading the next message does not acknowledge it. {@link reclaim} returns
 * messages that were delivered but never received, as after {@link ConnectionLostError},
 * {@link TimeoutError} or an abort, and those that a dead process left. Calls reject as those of a
 * {@link ShuffleQueue}.
 *
 * @example
 * import { connect } from 'millpond'
 *
 * const queue = (await connect('memory:')).shuffleQueue('jobs')
 * await queue.write('tenant-7', { image: 'a.png' })
 * await queue.consumer('workers', 'worker-1').read() // and then this worker dies
 *
 * const consumer = queue.consumer('workers', 'worker-2', { maxDeliveries: 5 })
 * const { messages, dead } = await consumer.reclaim(0, 10) // 60_000 would be a minute
 * console.log(messages[0].field('image'), messages[0].deliveries, dead) //=> a.png 2 0
 * console.log(await consumer.ack(messages)) //=> 1
 */
export class ShuffleConsumer<T extends string | Buffer = string> {
  private constructor()

  /** Reads the next message. Returns null if there is none, or if none arrives within `waitMs`. */
  read(options?: ReadOptions): Promise<Message<T> | null>

  readMany(max: number | bigint, options?: ReadOptions): Promise<Message<T>[]>

  messages(options?: MessagesOptions): Messages<T>

  worker(options?: ShuffleWorkerOptions): ShuffleWorker<T>

  //! methods
}

/**
 * A worker of a {@link ShuffleConsumer}; made by {@link ShuffleConsumer.worker}. {@link run} works until it is stopped,
 * on `concurrency` messages at a time; {@link drain} until nothing is available.
 *
 * The worker keeps a message while its handler works: a native thread renews it three times per lease. When the
 * handler is done, the message is acknowledged, and with `delete` also deleted, whatever the handler returns except a
 * modification. {@link Retry}, {@link Reject} and {@link Release}, thrown or returned, change what becomes of the
 * message. Any other exception is a failure: the message is delivered again after the backoff, until the consumer's
 * `maxDeliveries` make it a dead letter. The worker takes over the messages of consumers that are gone. All workers of
 * a group should have the same lease.
 *
 * @example
 * import { connect, Reject } from 'millpond'
 *
 * const queue = (await connect('memory:')).shuffleQueue('jobs')
 * await queue.writeMany([['a', { image: '1.png' }], ['b', { image: '2.txt' }]])
 *
 * const worker = queue.consumer('workers', 'worker-1').worker({ delete: true })
 * const drained = await worker.drain(async ({ message }) => {
 *   if (!message.field('image').endsWith('.png')) throw new Reject('no image')
 * }, { onError: (_, error) => console.error(error) })
 * console.log(drained) //=> { done: 1, retried: 0, dead: 1, others: 0 }
 * console.log((await queue.deadLetters())[0].reason) //=> rejected: no image
 */
export class ShuffleWorker<T extends string | Buffer = string> {
  private constructor()

  /** As {@link TaskWorker.run}. */
  run<R>(
    handler: (job: ShuffleJob<T>) => MessageResult<R>,
    options?: RunOptions<ShuffleJob<T>>
  ): Promise<JobCounts>

  /** As {@link TaskWorker.drain}. */
  drain<R>(
    handler: (job: ShuffleJob<T>) => MessageResult<R>,
    options?: WorkerHooks<ShuffleJob<T>>
  ): Promise<JobCounts>

  /** As {@link TaskWorker.stop}. */
  stop(withinMs?: number): void
}

/** A message that is being worked on; passed to the handler of a {@link ShuffleWorker}, which ends it. */
export class ShuffleJob<T extends string | Buffer = string> {
  private constructor()

  readonly message: Message<T>

  readonly isLost: boolean

  readonly isLastAttempt: boolean

  /** As {@link Job.signal}. */
  readonly signal: AbortSignal
}

export interface Messages<T extends string | Buffer = string> extends Loop<Message<T>[]> {}
/**
 * The loop of a {@link ShuffleConsumer} over batches of messages; made by
 * {@link ShuffleConsumer.messages}.
 *
 * A message is done only when it is acknowledged: requesting the next batch does not acknowledge
 * the previous one. So a consumer may pass messages to others and continue. If a loop is left by an
 * exception, `break` or a signal, messages that were not acknowledged stay with the group, for
 * {@link ShuffleConsumer.reclaim}. A signal that aborts while the loop waits ends the loop with the
 * signal's reason.
 *
 * @example
 * import { connect } from 'millpond'
 *
 * const queue = (await connect('memory:')).shuffleQueue('jobs')
 * await queue.writeMany([['a', { image: '1.png' }], ['b', { image: '2.png' }]])
 *
 * const consumer = queue.consumer('workers', 'worker-1')
 * for await (const batch of consumer.messages({ max: 100 })) {
 *   console.log(batch.length) //=> 2
 *   await consumer.ackAndDelete(batch)
 * }
 * console.log(await queue.backlog()) //=> 0
 */
export class Messages<T extends string | Buffer = string> {
  private constructor()
}

export interface Garbage<T extends string | Buffer = string> extends Loop<T[]> {}
/**+
 * If strings are wanted, a batch with values that are not UTF-8 ends the loop, and is kept as well.
 *
 * @example
 * import { connect } from 'millpond'
 *
 * const queue = (await connect('memory:')).shuffleQueue('jobs')
 * const deadline = new Date('2001-09-09')
 * await queue.writeTracked('tenant-7', { job: 'j-1' }, 'job', { deadline })
 *
 * const garbage = queue.gc()
 * for await (const values of garbage) console.log(values) //=> [ 'j-1' ]
 * console.log(garbage.deleted, await queue.deleteTracked('j-1')) //=> 1 null
 */
export class Garbage<T extends string | Buffer = string> {
  private constructor()

  readonly scanned: number

  readonly deleted: number
}

/**
 * A task at a version; a modification needs it to delete the task or to depend on it. A Task is
 * also a handle.
 */
export interface TaskHandle {
  readonly id: string
  readonly version: number
}

/** A document at a version. A Doc is also a handle. */
export interface DocHandle {
  readonly namespace: string
  readonly id: string
  readonly version: number
}

/** The fields of a {@link Task}; omitted fields are 0, empty or absent. */
export type TaskFields = { readonly id: string } & {
  readonly [Field in Exclude<keyof Task, 'id' | 'value' | 'change'>]?: Task[Field] | undefined
}

/**
 * A task as a store returned it. Its fields are a copy: changing them does not change the store.
 *
 * `atMs` has two uses: a task is available from that time on, and a claim moves it to the end of
 * the lease. Each claim, renewal and change adds 1 to `version`, and a modification with a stale
 * version is refused.
 *
 * @example
 * import { connect, Task } from 'millpond'
 *
 * const store = (await connect('memory:')).tasks('shop')
 * await store.insert('inbox', undefined, { json: '{"order": 12345678901234567890}' })
 * const task = await store.claim('inbox')
 * console.log(task.value.order, task.json)
 * //=> 12345678901234567000 {"order": 12345678901234567890}
 *
 * // One that a Worker was sent, or that was kept as JSON, is a task again.
 * const sent = new Task(structuredClone(task))
 * await store.modify({ changes: [sent.change({ delayMs: 60_000 }).retry('no stock')] })
 * const [later] = await store.fetch([task.id])
 * console.log(later.attempt, later.err, later.json === task.json) //=> 1 no stock true
 */
export class Task<T = any> implements TaskHandle {
  constructor(fields: TaskFields)

  //! fields tasks.Task -value
  /** Its JSON text, byte for byte as it was written; null if it has no value. */
  readonly json: string | null

  /**
   * The value of `json`, parsed on first access; undefined if there is no value. Whole numbers above
   * 2^53 lose digits, as everywhere in JavaScript; `json` keeps them.
   *
   * `T` is the type that the program declares; it is not checked.
   */
  readonly value: T

  /**
   * A change for {@link TaskStore.modify} that changes only what is given. Without a time it
   * releases the task, which is then available immediately.
   */
  change(options?: TaskChangeOptions): TaskChange
}

/** What a change of a task sets. */
export interface TaskChangeOptions { //! tasks.TaskChange
  /** The new value: any JSON value. */
  value?: unknown
  /** The same as a JSON text, which is kept byte for byte; null removes the value. */
  json?: string | null | undefined
  //! settings
}

/**
 * A change of a task; made by {@link Task.change}. Every method changes this one and returns it.
 */
export class TaskChange {
  private constructor()

  /** Sets more options, and returns this change. */
  set(options?: TaskChangeOptions): this

  retry(err?: string): this

  retryOrQuarantine(err: string, queue: string, max: number | bigint): this

  quarantine(err: string, queue: string): this
}

/** The fields of a {@link Doc}; omitted fields are 0, empty or absent. */
export type DocFields = { readonly namespace: string; readonly id: string } & {
  readonly [Field in Exclude<keyof Doc, 'namespace' | 'id' | 'content' | 'change'>]?: Doc[Field] | undefined
}

/**+
 * Its fields are a copy.
 *
 * @example
 * import { connect } from 'millpond'
 *
 * const store = (await connect('memory:')).tasks('bank')
 * await store.putDoc('accounts', 'ann', { balance: 7 })
 * const [account] = await store.claimDocs('accounts', 'ann')
 * const content = { balance: account.content.balance + 1 }
 * await store.modify({ docChanges: [account.change({ content, release: true })] })
 * const { content: now, version } = await store.getDoc('accounts', 'ann')
 * console.log(now, version) //=> { balance: 8 } 2
 */
export class Doc<C = any> implements DocHandle {
  constructor(fields: DocFields)

  //! fields tasks.Doc -content
  /** Its JSON text, byte for byte as it was written; null if it has no content. */
  readonly json: string | null

  /** The content of `json`, parsed on first access; undefined if there is no content. */
  readonly content: C

  change(options?: DocChangeOptions<C>): DocChange<C>
}

/** What a change of a document sets. */
export interface DocChangeOptions<C = any> { //! tasks.DocChange
  /** The new content: any JSON value. */
  content?: C | undefined
  /** The same as a JSON text, which is kept byte for byte. */
  json?: string | undefined
  //! settings
}

/** A change of a document; made by {@link Doc.change}. */
export class DocChange<C = any> {
  private constructor()

  /** Sets more options, and returns this change. */
  set(options?: DocChangeOptions<C>): this
}

/** Options of a task to insert, beside its queue and its value. */
export interface NewTaskOptions { //! tasks.NewTask
  /** The value as a JSON text, instead of `value`; it is kept byte for byte. */
  json?: string | null | undefined
  //! settings
}

/** A task to insert. */
export interface NewTask<T = any> extends NewTaskOptions {
  /** The queue that it goes to. */
  queue: string
  /** Any JSON value; if omitted, the task has no value. */
  value?: T | undefined
}

/** Options of a document to put, beside its namespace, its primary key and its content. */
export interface PutDocOptions { //! tasks.NewDoc
  /** The content as a JSON text, instead of `content`; it is kept byte for byte. */
  json?: string | null | undefined
  //! settings -skipColliding
}

/** A document to put; it must have content. */
export interface PutDoc extends PutDocOptions {
  /** The namespace that it is in. */
  namespace: string
  /** The primary key: up to 256 characters, not unique. */
  key: string
  /** Any JSON value. */
  content?: unknown
}

/** A document to insert; its content is optional. */
export interface NewDoc extends PutDoc {
  skipColliding?: boolean | undefined
}

/**
 * A set of changes that happens as a whole or not at all: up to 100,000 entries. Each task or
 * document may be named only once.
 */
export interface Modification<T = any> {
  inserts?: Iterable<NewTask<T>> | undefined
  changes?: Iterable<TaskChange> | undefined
  deletes?: Iterable<TaskHandle> | undefined
  depends?: Iterable<TaskHandle> | undefined
  docInserts?: Iterable<NewDoc> | undefined
  docPuts?: Iterable<PutDoc> | undefined
  docChanges?: Iterable<DocChange> | undefined
  docDeletes?: Iterable<DocHandle> | undefined
  docDepends?: Iterable<DocHandle> | undefined
}

/** What a modification did, each list in the order of the modification. */
export interface Modified<T = any> {
  //! fields tasks.Modified
}

/** The result of a renewal, in the order of the arguments. */
export interface Renewed {
  //! fields tasks.Renewed
}

/** Options of {@link Client.tasks}. */
export interface TaskStoreOptions { //! tasks.TaskStore
  //! settings
}

/** Options of a claim. */
export interface LeaseOptions extends CallOptions {
  /** How long the lease is, in milliseconds; 30,000 by default, at most 100 years. */
  leaseMs?: number | undefined
}

/** Options of `getDoc`, beside the namespace and the primary key. */
export interface GetDocOptions extends CallOptions {
  /** The document's secondary key; empty by default. */
  secondaryKey?: string | undefined
}

/** Options of the loop of claims. */
export interface ClaimsOptions extends WaitOptions { //! tasks.Claims
  /** The most tasks in a batch, 1 to 1,000; 1 by default. */
  max?: number | bigint | undefined
  //! settings -waitMs
}

/** Options of {@link TaskStore.worker}, beside the queues. */
export interface TaskWorkerOptions extends WorkerOptions { //! tasks.Worker
  /**
   * How long a task is delayed after its first failure, in milliseconds; 30,000 by default. Then
   * twice as long each time up to `backoffMaxMs`, each time minus a random part of up to a half.
   */
  backoffMs?: number | undefined
  /** The longest such delay, in milliseconds; an hour by default. */
  backoffMaxMs?: number | undefined
  /**
   * How long {@link TaskWorker.jobs} waits for a task when none is available, in milliseconds; see
   * {@link ClaimsOptions}.
   */
  waitMs?: number | undefined
  //! settings -concurrency -prefetch -timeoutMs
}

/**
 * Which queues or namespaces to include: those with one of these names or prefixes, or all if none is
 * given.
 */
export interface FilterOptions extends CallOptions {
  /** Those with one of these names. */
  exact?: Iterable<string> | undefined
  /** Also those whose names begin with one of these prefixes. */
  prefixes?: Iterable<string> | undefined
  //! settings
}

/** Which tasks of a queue to list. */
export interface ListOptions extends CallOptions {
  /** The page after this position: `next` of the previous page, or a task. */
  after?: { readonly atMs: number; readonly id: string } | undefined
  //! settings
}

export interface TaskPage<T = any> {
  //! fields tasks.TaskPage
}

/** Which tasks of a queue to purge, move or redrive; by default all that no other claimant holds. */
export interface TaskFilterOptions extends CallOptions {
  /** Continues after this position: `next` of the previous step, or a task. */
  after?: { readonly atMs: number; readonly id: string } | undefined
  //! settings
}

/** What one step of a purge, a move or a redrive did. */
export interface Swept {
  //! fields tasks.Swept
}

/** Which documents of a namespace to list. */
export interface ListDocsOptions extends CallOptions {
  /** The page after this position: `next` of the previous page, or a document. */
  after?: { readonly key: string; readonly secondaryKey: string; readonly id: string } | undefined
  //! settings
}

export interface DocPage<C = any> {
  //! fields tasks.DocPage
}

export interface QueueStats {
  //! fields tasks.QueueStats
}

export interface NamespaceStats {
  //! fields tasks.NamespaceStats
}

/**
 * A store of tasks in queues, and of documents beside them; made by {@link Client.tasks}.
 *
 * There are two ways to change it. A *claim* leases available tasks to a claimant. A *modification*
 * inserts, changes and deletes tasks and documents, and may depend on others, all or nothing; it
 * names each by id and version, so that it fails as a whole if another claimant was faster. So a
 * worker that deletes its task and inserts the next one in a single modification does both or
 * neither, and a worker that has lost its lease can do no harm. A modification cannot span several
 * stores.
 *
 * Delivery is at least once: a task is available again when its lease expires, unless it was
 * deleted or changed before. There is no order: of each queue one of the oldest tasks of the
 * highest priority is picked at random, the oldest with a probability of one half.
 *
 * `T` is the type that the program declares for the values of its tasks, `any` by default; it is not checked. If the
 * values of a queue have a different type, the call that takes its tasks names that type: `claim<Order>`,
 * `worker<Order>`. So do the calls that return documents.
 *
 * All calls reject with {@link InvalidArgumentError} for names beyond their limits (queues 65,536
 * bytes; ids, claimants and namespaces 64 characters; keys 256; ids of documents 1,025; values 16
 * MiB), before anything is sent; with {@link WrongTypeError} or {@link IncompatibleVersionError} if
 * the keys hold something else; and with the errors of the connection.
 *
 * @example
 * import { connect, DependencyError } from 'millpond'
 *
 * const store = (await connect('memory:')).tasks('shop')
 * await store.insert('inbox', { order: 7 })
 *
 * const task = await store.claim('inbox')
 * // Done with one and on with the next, in one step: both happen or neither does.
 * const next = { queue: 'outbox', value: { invoice: task.value.order } }
 * await store.modify({ deletes: [task], inserts: [next] })
 * try {
 *   await store.modify({ deletes: [task], inserts: [next] }) // once more
 * } catch (error) {
 *   if (!(error instanceof DependencyError)) throw error
 *   console.log(error.deletes[0].id === task.id) //=> true
 * }
 * console.log(await store.queues()) //=> Map(1) { 'outbox' => 1 }
 */
export class TaskStore<T = any> {
  private constructor()

  readonly claimant: string

  /**
   * Inserts one task, available immediately by default. `value` is any JSON value, or undefined for
   * none. See {@link modify}.
   *
   * After {@link ConnectionLostError}, {@link TimeoutError} or an abort, the task may or may not
   * exist. If you set an `id` and `skipColliding`, inserting it again is safe, and returns null if
   * the task exists.
   */
  insert(
    queue: string,
    value?: T,
    options?: NewTaskOptions & CallOptions & { skipColliding?: false | undefined }
  ): Promise<Task<T>>

  insert(
    queue: string,
    value: T | undefined,
    options: NewTaskOptions & CallOptions
  ): Promise<Task<T> | null>

  worker<V = T>(queues: string | Iterable<string>, options?: TaskWorkerOptions): TaskWorker<V>

  renew(
    held: {
      tasks?: Iterable<TaskHandle> | undefined
      docs?: Iterable<DocHandle> | undefined
    },
    options?: LeaseOptions
  ): Promise<Renewed>

  areEmpty(options: FilterOptions): Promise<boolean>

  getDoc<C = any>(
    namespace: string,
    key: string,
    options?: GetDocOptions
  ): Promise<Doc<C> | null>

  /**+
   * @example
   * import { connect } from 'millpond'
   *
   * const store = (await connect('memory:')).tasks('shop')
   * await store.putDoc('rates', 'eur', 1.1)
   * await store.putDoc('rates', 'eur', 1.2)
   * console.log((await store.getDoc('rates', 'eur')).content) //=> 1.2
   */
  putDoc<C = any>(
    namespace: string,
    key: string,
    content?: C,
    options?: PutDocOptions & CallOptions
  ): Promise<Doc<C>>

  //! methods
}

export interface Claims<T = any> extends Loop<Task<T>[]> {}
/**
 * The loop of a claimant over batches of leased tasks, of one task by default; made by {@link
 * TaskStore.claims}.
 *
 * Requesting the next batch does not change the previous one: its tasks are leased until they are
 * deleted or changed, or until the lease expires, even if the loop is left by an exception, `break`
 * or a signal. A signal that aborts while the loop waits ends the loop with the signal's reason; a
 * batch that was already in transit is returned by the next call.
 *
 * @example
 * import { connect } from 'millpond'
 *
 * const store = (await connect('memory:')).tasks('shop')
 * for (const order of [1, 2, 3]) await store.insert('inbox', { order })
 * for await (const tasks of store.claims('inbox', { max: 2, leaseMs: 60_000 })) {
 *   console.log(tasks.length)
 *   //=> 2
 *   //=> 1
 *   await store.modify({ deletes: tasks })
 * }
 */
export class Claims<T = any> {
  private constructor()
}

/**
 * A worker of a store; made by {@link TaskStore.worker}. {@link run} works until it is stopped, on `concurrency`
 * jobs at a time; {@link drain} works until nothing is available; {@link jobs} yields the jobs one by one.
 *
 * The return value of a handler, or of its promise, takes effect in one step with the end of its job. If it is a
 * {@link Modification}, an object of its lists, the whole modification is applied, to the newest versions of the task
 * and the documents that the job holds. The task is deleted unless the modification changes it; after any other value,
 * the task is deleted too. What was meant as a modification is a failure with an error that says so: an object with a
 * name that is nearly one of a list, such as `insert`, or with others beside its lists; an object that has only lists;
 * a change outside of a modification; an array with one of these; and a generator. An object of a class is a result,
 * unless it has lists of a modification and nothing else. The type of the handler refuses most of that; see
 * {@link TaskResult}.
 *
 * {@link Retry}, {@link Move}, {@link Reject} and {@link Release}, thrown or returned, change what becomes of the task.
 * Any other exception is a failure with its name and message, handled as by {@link Job.fail}, and `onError` is called.
 * A job that the handler has already ended is left as it is.
 *
 * @example
 * import { connect, Move, Retry } from 'millpond'
 *
 * const store = (await connect('memory:')).tasks('shop')
 * for (const order of [7, 13, 'seven']) await store.insert('inbox', { order })
 *
 * const worker = store.worker('inbox', { maxAttempts: 3, backoffMs: 1_000 })
 * const drained = await worker.drain(async (job) => {
 *   const { order } = job.task.value
 *   if (order === 13) throw new Retry('out of stock', { delayMs: 60_000 })
 *   if (typeof order !== 'number') throw new Move('rejected', 'no number')
 *   return { ...job.delete(), inserts: [{ queue: 'outbox', value: { invoice: order } }] }
 * })
 * console.log(drained) //=> { done: 1, retried: 1, dead: 0, others: 1 }
 * console.log(await store.queues()) //=> Map(3) { 'inbox' => 1, 'outbox' => 1, 'rejected' => 1 }
 */
export class TaskWorker<T = any> {
  private constructor()

  jobs(options?: CallOptions): Jobs<T>

  /**
   * Works until it is stopped, and keeps the program alive until then; resolves to what it did. If the server is
   * unreachable, the run keeps trying until the server responds. A non-retryable error rejects the run once running
   * jobs have ended.
   */
  run<R extends HandlerReturn>(
    handler: (job: Job<T>) => TaskResult<R>,
    options?: RunOptions<Job<T>>
  ): Promise<JobCounts>

  /** Works until nothing is available. For tests, and for programs that cron starts. */
  drain<R extends HandlerReturn>(
    handler: (job: Job<T>) => TaskResult<R>,
    options?: WorkerHooks<Job<T>>
  ): Promise<JobCounts>

  /**
   * Stops the worker's runs, including later ones: they take no more jobs, give back those that no handler has begun,
   * and wait up to this many milliseconds for running handlers; 25,000 by default. Jobs that are still running after
   * that are given back and immediately available to other workers, and their signals abort. 0 stops immediately, and a
   * second stop changes the time.
   */
  stop(withinMs?: number): void
}

/** Any value; a {@link Modification} is named so that its parts get their types from it. */
export type HandlerReturn = Modification | PromiseLike<Modification> | {} | null | undefined | void

/**
 * `R`, if a handler of a {@link TaskWorker} may return it, and otherwise a text that says why not. A handler may return
 * nothing, a {@link Modification}, and any result, which is dropped; but no object that was meant as a modification.
 *
 * Only at run time it shows what is in a value whose type is an interface, a class, `unknown` or `any`. A function with
 * a type parameter for the result of a handler passes it on as `(job: Job) => unknown`.
 */
export type TaskResult<R> = Checked<R, Fault<Awaited<R>, never>>

/** As {@link TaskResult}, for a handler of a {@link ShuffleWorker}: a message ends without a modification. */
export type MessageResult<R> = Checked<R, Fault<Awaited<R>, 'a message ends without a modification'>>

/** As {@link TaskResult}, for a handler of an {@link EventWorker}: an event ends without a modification. */
export type EventResult<R> = Checked<R, Fault<Awaited<R>, 'an event ends without a modification'>>

type Checked<R, Fault> = [Fault] extends [never] ? R : Fault

/** What is wrong with a value that was returned; `Whole` is what is wrong with a modification. */
type Fault<T, Whole> =
  IsAny<T> extends true ? never
  : T extends readonly (infer E)[] ? IsAny<E> extends true ? never : ChangeFault<E> | NameFault<E>
  : [keyof Given<T>] extends [never] ? never
  : [keyof Given<T>] extends [keyof Modification]
    ? Given<T> extends Modification ? Whole : NameFault<T>
  : ChangeFault<T> | NameFault<T> | ListsFault<T>

type ChangeFault<T> =
  T extends TaskChange | DocChange
    ? [keyof T] extends [keyof TaskChange] ? 'a change is no modification: { changes: [change] } is one' : never
    : never

type NameFault<T> = T extends Plain ? NoModification<Mistaken<keyof Given<T>>> : never

type ListsFault<T> =
  T extends Plain
    ? string extends keyof T ? never
    : [Others<Given<T>>] extends [never] ? NoModification<keyof Given<T>> : never
    : never

type NoModification<Name> = Name extends string ? `an object with ${Name} is no modification` : never

/** An object of no class or interface: only such a type has an index signature by implication. */
type Plain = { [name: string]: unknown }

/** The properties that may be there: of a function's different results, each has those of the others, as undefined. */
type Given<T> = T extends object ? { [K in keyof T as T[K] extends undefined ? never : K]: T[K] } : {}

/** The names of properties that are no lists, or may be none. */
type Others<T> = {
  [K in keyof T]-?: IsAny<T[K]> extends true ? K : T[K] extends readonly unknown[] ? never : K
}[keyof T]

/** Names that are meant as those of a list, without regard to case, signs between words, and the plural. */
type Mistaken<Name> = Name extends string ? Lowercase<Name> extends Meant | `${Meant}s` ? Name : never : never
type Meant = Verb | `doc${Sign}${Verb | 'put'}` | `${Verb | 'put'}${Sign}doc` | 'modification'
type Verb = 'insert' | 'change' | 'delete' | 'depend'
type Sign = '' | '_' | '-'

type IsAny<T> = 0 extends 1 & T ? true : false

// Without it, all of these would be exported.
export {}

export interface JobCounts { //! worker.JobCounts
  //! fields worker.JobCounts
}

/** Hooks that a worker calls beside its handler. An exception in a hook is logged, and the run continues. */
export interface WorkerHooks<J = Job> {
  /**
   * Called with an exception of a handler and its job, and with problems that the worker reports: a job that was put
   * aside, an end that was refused, a lease that was lost; and, without a job, when the server becomes unreachable and
   * when it responds again. Without this hook, all of that goes to `console.error`, with the stacks of exceptions.
   */
  onError?: ((job: J | null, error: unknown) => unknown) | undefined
  /** Called with every report, including what went well; for metrics. */
  onEvent?: ((report: Report<J>) => unknown) | undefined
}

/** What an event waits for. */
export type EventState = 'scheduled' | 'behind' | 'ready' | 'leased' | 'retry' | 'dead' | 'done'

/** Why an event was given up. */
export type DeadReason = 'rejected' | 'exhausted' | 'crashed'

export interface Event {
  //! fields events.Event
}

/** A delivery: an event as it was received, or its id and token. */
export interface Delivery {
  /** The event's id. */
  readonly id: string
  /** The token of the delivery. */
  readonly token: Uint8Array
}

/** Ids of events, or objects that have one. */
export type EventIds = string | { readonly id: string } | Iterable<string | { readonly id: string }>

export interface Published {
  //! fields events.Published
}

export interface EventPosition {
  //! fields events.EventPosition
}

export interface EventPage {
  //! fields events.EventPage
}

export interface EventStats {
  //! fields events.Stats
}

export interface EventConfig {
  //! fields events.Config
}

/** What {@link EventQueue.configure} changes; what is left out stays as it is, or has its default in a new queue. */
export interface EventConfigChange { //! events.ConfigChange
  //! settings
}

/** Options of an event to publish, beside its payload. */
export interface PublishOptions { //! events.NewEvent
  //! settings
}

export interface NewEvent extends PublishOptions {
  /** What to publish, at most 16 MiB. */
  payload: Member
}

/** When to publish events, and which: a calendar rule, which is either `cron` or `everyMs`. */
export interface Schedule { //! events.Schedule
  /** Its id, up to 256 bytes, which is the key of its events. */
  id: string
  //! settings
}

export interface ScheduleInfo {
  //! fields events.ScheduleInfo
}

export interface SyncedSchedules {
  //! fields events.SyncedSchedules
}

export interface EventQueryOptions extends CallOptions { //! events.EventQuery
  //! settings
}

export interface RedriveEventsOptions extends CallOptions { //! events.RedriveFilter
  //! settings
}

export interface PurgeEventsOptions extends CallOptions { //! events.PurgeFilter
  //! settings
}

/** Options of {@link EventQueue.deliveries}. */
export interface DeliveriesOptions extends CallOptions { //! events.Deliveries
  //! settings
}

export interface EventWorkerOptions extends WorkerOptions { //! events.Worker
  //! settings -concurrency -prefetch -timeoutMs
}

/**+
 *
 * @example
 * import { connect } from 'millpond'
 *
 * const queue = (await connect('memory:')).events('orders')
 * await queue.publish('paid', { key: 'customer-12' })
 * const reminder = await queue.publish('remind', { key: 'customer-12', delayMs: 3_600_000 })
 * for (const event of await queue.receive(10)) {
 *   console.log(event.payload.toString()) //=> paid
 *   await queue.ack(event)
 * }
 * console.log(await queue.cancel(reminder)) //=> [ 'removed' ]
 */
export class EventQueue {
  private constructor()

  publish(payload: Member, options?: PublishOptions & CallOptions): Promise<Published>

  /**+
   * @example
   * import { connect } from 'millpond'
   *
   * const queue = (await connect('redis://localhost')).events('orders')
   * const command = await queue.publishCall('paid', { key: 'customer-12' })
   * console.log(command[0]) //=> EVAL
   * // With ioredis: await redis.multi().set('order:7', 'paid').call(...command).exec()
   */
  publishCall(payload: Member, options?: PublishOptions & CallOptions): Promise<[name: string, ...args: Buffer[]]>

  configure(options?: EventConfigChange & CallOptions): Promise<void>

  worker(options?: EventWorkerOptions): EventWorker

  //! methods
}

/**
 * The loop of an {@link EventQueue} over batches of events; made by {@link EventQueue.deliveries}. Requesting the next
 * batch does not change the previous one: its events are leased until they are ended, or until the lease expires.
 *
 * @example
 * import { connect } from 'millpond'
 *
 * const queue = (await connect('memory:')).events('orders')
 * await queue.publishMany(['a', 'b', 'c'])
 * for await (const events of queue.deliveries({ max: 2 })) {
 *   console.log((await queue.ackMany(events)).length) //=> 2
 *   break
 * }
 */
export class Deliveries {
  private constructor()
}
export interface Deliveries extends Loop<Event[]> {}

/**
 * A worker of an {@link EventQueue}; made by {@link EventQueue.worker}. {@link run} works until it is stopped, on
 * `concurrency` events at a time; {@link drain} until nothing is ready.
 *
 * When the handler is done, the event is deleted, whatever the handler returns except a modification: what follows from
 * the event is published with {@link EventQueue.ackWith}. {@link Retry}, {@link Reject} and {@link Release}, thrown or
 * returned, decide how the event ends. Any other exception is a failure: the event is delivered again after the
 * queue's backoff, until its `maxAttempts` make it a dead letter.
 *
 * @example
 * import { connect, Reject } from 'millpond'
 *
 * const queue = (await connect('memory:')).events('orders')
 * await queue.publishMany(['7', 'x'])
 * const drained = await queue.worker().drain(async ({ event }) => {
 *   if (!/^\d+$/.test(event.payload.toString())) throw new Reject('no number')
 * }, { onError: (_, error) => console.error(error) })
 * console.log(drained) //=> { done: 1, retried: 0, dead: 1, others: 0 }
 * console.log((await queue.list('dead')).events[0].err) //=> no number
 */
export class EventWorker {
  private constructor()

  /** As {@link TaskWorker.run}. */
  run<R>(
    handler: (job: EventJob) => EventResult<R>,
    options?: RunOptions<EventJob>
  ): Promise<JobCounts>

  /** As {@link TaskWorker.drain}. */
  drain<R>(
    handler: (job: EventJob) => EventResult<R>,
    options?: WorkerHooks<EventJob>
  ): Promise<JobCounts>

  /** As {@link TaskWorker.stop}. */
  stop(withinMs?: number): void
}

/** An event that is being worked on; passed to the handler of an {@link EventWorker}, which ends it. */
export class EventJob {
  private constructor()

  readonly event: Event

  readonly isLost: boolean

  readonly isLastAttempt: boolean

  readonly isCancelled: boolean

  /** As {@link Job.signal}. */
  readonly signal: AbortSignal
}

export interface Acquired {
  //! fields volatile.Acquired
}

export interface ValueOrLock<T extends string | Buffer = string> {
  //! fields volatile.ValueOrLock
}

export interface LockHolder<T extends string | Buffer = string> {
  //! fields volatile.LockHolder
}

export interface HashField<T extends string | Buffer = string> {
  //! fields volatile.HashField
}

/** The position of a field in the order of its hash, or a field as {@link VolatileHash.fields} returns it. */
export interface FieldPosition<T extends Member = Member> {
  //! fields volatile.FieldPosition
}

export interface FieldPage<T extends string | Buffer = string> {
  //! fields volatile.FieldPage
}

export interface HashStats {
  //! fields volatile.HashStats
}

export interface Reaped {
  //! fields volatile.Reaped
}

/** Options of {@link VolatileHash.fields}. */
export interface FieldQueryOptions extends CallOptions { //! volatile.FieldQuery
  //! settings
}

/**+
 * @example
 * import { connect } from 'millpond'
 *
 * const pages = (await connect('memory:')).volatileHash('pages')
 * const found = await pages.getOrAcquire('/', 'request-1', 30_000)
 * console.log(found.value, found.fence !== null) //=> null true
 * console.log((await pages.getOrAcquire('/', 'request-2', 30_000)).remainingMs > 0) //=> true
 *
 * await pages.setAndRelease('/', 'request-1', '<h1>…', 60_000) // what request-1 has computed
 * console.log((await pages.getOrAcquire('/', 'request-2', 30_000)).value) //=> <h1>…
 */
export class VolatileHash<T extends string | Buffer = string> {
  private constructor()

  //! method set

  /**+
   * @example
   * import { connect } from 'millpond'
   *
   * const sessions = (await connect('memory:')).volatileHash('sessions')
   * await sessions.setMany({ ann: '1', bob: '2' }, 1_800_000)
   * console.log(await sessions.getMany(['bob', 'cy'])) //=> [ '2', null ]
   */
  //! method setMany

  /**+
   * @example
   * import { connect } from 'millpond'
   *
   * const pages = (await connect('memory:')).volatileHash('pages')
   * await pages.set('/a', '…', 20_000)
   * await pages.set('/b', '…', 10_000)
   * const { fields, next } = await pages.fields({ limit: 1, omitValues: true })
   * console.log(fields[0].field, (await pages.fields({ after: next })).fields[0].field) //=> /b /a
   */
  //! method fields

  /**+
   * @example
   * import { connect, ManualClock } from 'millpond'
   *
   * const clock = new ManualClock()
   * const pages = (await connect('memory:', { clock })).volatileHash('pages')
   * await pages.set('/', '…', 60_000)
   * clock.advance(45_000)
   * console.log((await pages.reap()).nextInMs) //=> 15000
   * clock.advance(15_000)
   * console.log((await pages.reap({ limit: 100 })).fields) //=> 1
   */
  //! method reap

  //! methods
}

/**+
 * @example
 * import { connect } from 'millpond'
 *
 * const pages = (await connect('memory:')).volatileHash('pages')
 * const lock = await pages.lock('/', 10_000)
 * console.log(await pages.lock('/', 10_000)) //=> null
 * await lock.set('<h1>…', 60_000)
 * console.log(await lock.release(), await pages.get('/')) //=> true <h1>…
 */
export class FieldLock {
  private constructor()

  readonly fence: number

  readonly isLost: boolean

  /**
   * Aborts, with a {@link LeaseLostError}, if the lock is lost before it is released; pass it to the calls of your
   * work. It keeps neither the lock nor the program alive.
   */
  readonly signal: AbortSignal

  //! method release

  /** {@link release}, at the end of the block of an `await using`. */
  [Symbol.asyncDispose](): Promise<void>

  //! methods
}

/**+
 * @example
 * import { connect, ManualClock } from 'millpond'
 *
 * const clock = new ManualClock()
 * const carts = (await connect('memory:', { clock })).volatileHashes('carts')
 * await carts.hash('ann').set('book', '1', 60_000)
 * await carts.hash('bob').set('lamp', '2', 3_600_000)
 * console.log(await carts.hash('ann').len()) //=> 1
 *
 * clock.advance(60_000)
 * const { fields, more } = await carts.reap() // looks at the cart of ann alone
 * console.log(fields, more) //=> 1 false
 */
export class VolatileHashes<T extends string | Buffer = string> {
  private constructor()

  //! methods
}

/**
 * What became of a slice, or why an enlistment ran none.
 *
 * | why | |
 * | --- | --- |
 * | `'worked'`, `'nothing'` | the slice found something to do, or nothing |
 * | `'aborted'`, `'failed'` | the slice was aborted; its handler failed |
 * | `'not_drawn'` | the lottery drew no job |
 * | `'not_due'` | it is not yet this process's turn to ask the server |
 * | `'denied'` | no job was to run at this moment |
 * | `'busy'` | as many slices of the job were running as may |
 * | `'in_slice'` | the process was already running a slice |
 * | `'over_duty'` | the process has given away as much of its time as it may |
 * | `'no_jobs'` | no job is installed |
 * | `'unavailable'` | the server did not respond in time, or with an error |
 * | `'stopped'` | the recruiter was stopped |
 */
export type Why =
  | 'worked' | 'nothing' | 'aborted' | 'failed' | 'not_drawn' | 'not_due' | 'denied' | 'busy' | 'in_slice'
  | 'over_duty' | 'no_jobs' | 'unavailable' | 'stopped'

export interface Duty {
  readonly recruited: boolean
  readonly job: string | null
  readonly tookMs: number
  readonly why: Why
}

export interface JobStats {
  //! fields recruiter.JobStats
}

export interface RecruiterStats {
  //! fields recruiter.RecruiterStats
}

/** How often a job runs, and for how long at a time. It has either a share or a rate per second. */
export interface InstallOptions {
  //! settings
}

/**
 * What a handler of a {@link Recruiter} returns: how many items it worked on; `true` or nothing for one; `false` or 0
 * if there was nothing to do.
 */
export type SliceResult = number | bigint | boolean | void

/** Options of {@link Recruiter.run}. */
export interface RecruiterRunOptions {
  /**
   * Whether SIGTERM and SIGINT {@link Recruiter.stop | stop} the recruiter instead of ending the program; by default
   * true on the main thread. A second signal ends the run without waiting for the slice. The listeners are removed when
   * the run is over; those of the program are called too.
   */
  stopOnSignals?: boolean | undefined
  /**
   * Ends the run when it aborts, after the slice that is running; then the run rejects with its reason. The recruiter is
   * not stopped.
   */
  signal?: AbortSignal | undefined
}

/**+
 * @example
 * import { connect } from 'millpond'
 *
 * const recruiter = (await connect('memory:')).recruiter('site')
 * const mails = ['ann', 'bob', 'cy']
 * recruiter.install('mail', { share: 1, budgetMs: 20 }, async (slice) => {
 *   let sent = 0
 *   while (mails.pop() !== undefined) {
 *     sent += 1
 *     if (slice.isOver) break
 *   }
 *   return sent // 0 says that there was nothing to do
 * })
 * const { recruited, why } = await recruiter.enlist() // after a page, or when a queue was empty
 * console.log(recruited, why) //=> true worked
 */
export class Recruiter {
  private constructor()

  readonly isDue: boolean

  /**
   * Installs a job with its handler in this object.
   *
   * An exception of the handler, or a result that is no {@link SliceResult}, is a slice that failed: it is counted and
   * goes to {@link onError}, and not to the caller of {@link enlist}. Nothing is tried again; the next slice of the job
   * does it. A handler may be asynchronous: it is awaited, and until then the process runs no other slice.
   *
   * @param id - the id of the job, 1 to 64 bytes without control characters
   * @param options - its rate, and more
   * @param handler - does a slice of the work
   * @throws {InvalidArgumentError} for options beyond their limits, an id that is installed already, more than 64 jobs,
   * and shares that come to more than 100 %, whose sum it names. Nothing is installed then.
   */
  install(
    id: string,
    options: InstallOptions,
    handler: (slice: Slice) => SliceResult | PromiseLike<SliceResult>
  ): void

  /**+
   * The promise rejects only for a wrong argument, so a program need not await it:
   * `response.once('finish', () => recruiter.enlist())`.
   *
   * @param options.budgetMs - the most time for a slice; by default as long as its job says, in milliseconds
   */
  enlist(options?: { budgetMs?: number | undefined }): Promise<Duty>

  run(options?: RecruiterRunOptions): Promise<void>

  /**
   * Calls the hook with each error of a handler and its job, and with each error of the server and null, after which the
   * process does not ask for a while. By default, errors go to `console.error`.
   *
   * @param hook - may be asynchronous; what it throws is logged
   */
  onError(hook: (job: string | null, error: unknown) => unknown): void

  //! methods
}

/**+
 * @example
 * import { connect, ManualClock } from 'millpond'
 *
 * const clock = new ManualClock()
 * const recruiter = (await connect('memory:', { clock })).recruiter('site')
 * const pages = ['/a', '/b', '/c']
 * recruiter.install('render', { share: 1, budgetMs: 50 }, (slice) => {
 *   let rendered = 0
 *   while (!slice.isOver && pages.length > 0) {
 *     pages.shift()
 *     clock.advance(25) // it takes a while
 *     rendered += 1
 *   }
 *   if (pages.length > 0) slice.more()
 *   return rendered
 * })
 * console.log((await recruiter.enlist()).tookMs, pages) //=> 50 [ '/c' ]
 */
export class Slice {
  private constructor()

  readonly job: string

  readonly budgetMs: number

  readonly remainingMs: number

  readonly isOver: boolean

  readonly fence: number

  readonly isLost: boolean

  //! methods
}

export interface TrackerStats {
  //! fields tracker.TrackerStats
}

export interface Tracked<T extends string | Buffer = string> {
  //! fields tracker.Tracked
}

export interface Scanned {
  //! fields tracker.Scanned
}

export interface Sample<T extends string | Buffer = string> {
  //! fields tracker.Sample
}

export interface Pruned {
  //! fields tracker.Pruned
}

/** A row of a table: where it is, such as its primary key, and its id; null or empty if it has none to track. */
export type TrackerRow = readonly [row: string | number | bigint, id: Member | null]

/** Options of {@link QueueTracker.scan}. */
export interface ScanOptions extends CallOptions {
  /** The maximum number of rows, 1 to 1,000; by default 25. */
  limit?: number | bigint | undefined
  /** How long a round of scans lasts at least, up to 100 years, in milliseconds; by default a minute. */
  roundMinMs?: number | undefined
}

/**+
 * @example
 * import { connect } from 'millpond'
 *
 * const tracker = (await connect('memory:')).queueTracker('orders')
 * let table = [[1, 'ann'], [2, 'bob'], [3, 'ann']] // of a database; each row has an id
 *
 * // select … where number > after order by number limit …
 * const rows = async (after, limit) => table.filter(([number]) => number > Number(after)).slice(0, limit)
 * console.log(await tracker.scan(rows)) //=> { rows: 3, added: 2, more: false }
 *
 * table = table.filter(([, id]) => id !== 'bob') // the work is done
 * const done = async (ids) => ids.filter((id) => !table.some((row) => row[1] === id))
 * console.log(await tracker.prune(done)) //=> { checked: 2, removed: 1 }
 * console.log(await tracker.areQueued(['ann', 'bob'])) //=> [ true, false ]
 */
export class QueueTracker<T extends string | Buffer = string> {
  private constructor()

  /**+
   * @param rows - reads a page of rows; may be asynchronous
   */
  scan(
    rows: (after: string | null, limit: number) => Iterable<TrackerRow> | PromiseLike<Iterable<TrackerRow>>,
    options?: ScanOptions
  ): Promise<Scanned>

  /**+
   * @param done - says which ids have no work any more; may be asynchronous
   * @param options.limit - the maximum number of ids, 1 to 1,000; by default 25
   */
  prune(
    done: (ids: T[]) => Iterable<Member> | PromiseLike<Iterable<Member>>,
    options?: CallOptions & { limit?: number | bigint | undefined }
  ): Promise<Pruned>

  //! methods
}

/** Options of {@link TaskWorker.run}, {@link ShuffleWorker.run} and {@link EventWorker.run}. */
export interface RunOptions<J = Job> extends WorkerHooks<J>, CallOptions {
  /**
   * Whether SIGTERM and SIGINT stop the worker instead of ending the program; by default true on the main thread. A
   * second signal stops it immediately. The listeners are removed when the run is over; those of the program are called
   * too.
   */
  stopOnSignals?: boolean | undefined
  /** How long such a stop waits for running handlers, in milliseconds; see {@link TaskWorker.stop}. 25,000 by default. */
  stopWithinMs?: number | undefined
  /**
   * Also stops the worker when it aborts; then the run rejects with its reason. A handler that throws that reason, or
   * an `AbortError`, gives its task back untried.
   */
  signal?: AbortSignal | undefined
}

/** What became of a job, or of the server. */
export interface Report<J = Job> {
  /**
   * A job is `'done'`; it failed and is `'retried'`; it is `'released'` untried or `'moved'` to another queue; it is
   * `'dead'`, which means put aside, or `'cancelled'`; its end was `'refused'`, and it is tried again; its lease was
   * `'lost'`. The server is `'away'` when it does not respond, and `'back'` when it responds again.
   */
  readonly kind:
    | 'done' | 'retried' | 'released' | 'moved' | 'dead' | 'cancelled' | 'refused' | 'lost' | 'away' | 'back'
  /** Whether it needs attention and is logged by default: `'dead'`, and all kinds from `'refused'` on. */
  readonly isTrouble: boolean
  /** The whole report in one line. */
  readonly message: string
  /** The cause, if the library or the store gave one. */
  readonly error: MillpondError | null
  /** The job, which has ended; null if it concerns the whole worker. */
  readonly job: J | null
}

/** Thrown or returned by a handler: its job is to be retried. */
export class Retry extends Error {
  /** After the worker's backoff, or after `delayMs` milliseconds. */
  constructor(err?: string, options?: { delayMs?: number | undefined; cause?: unknown })
  /** How long until the next attempt, in milliseconds. */
  readonly delayMs: number | undefined
}

/** Thrown or returned by a handler: its task is to be moved to this queue, with one more attempt. */
export class Move extends Error {
  constructor(queue: string, err?: string)
  /** Where the task goes. */
  readonly queue: string
}

/**
 * Thrown or returned by a handler: its job is put aside immediately, a task into the error queue, because another
 * attempt would not help.
 */
export class Reject extends Error {
  constructor(err?: string, options?: { cause?: unknown })
}

/**
 * Thrown or returned by a handler: its task is released for another worker without counting an
 * attempt, after `delayMs` milliseconds or a short random time; see {@link Job.release}.
 */
export class Release extends Error {
  constructor(message?: string, options?: { delayMs?: number | undefined })
  /** How long until the task is available again, in milliseconds. */
  readonly delayMs: number | undefined
}

export interface Jobs<T = any> extends Loop<Job<T>> {}
/**
 * The jobs of a {@link TaskWorker}; made by {@link TaskWorker.jobs}. Requesting the next job does
 * not change the previous one.
 *
 * @example
 * import { connect } from 'millpond'
 *
 * const store = (await connect('memory:')).tasks('shop')
 * await store.insert('inbox', { order: 7 })
 * for await (const job of store.worker('inbox').jobs()) {
 *   console.log(job.task.value.order, job.isLost) //=> 7 false
 *   await job.done()
 * }
 */
export class Jobs<T = any> {
  private constructor()
}

/**
 * A task that is being worked on; made by {@link Jobs}.
 *
 * A native thread renews the task, and the documents that the job claims, three times per lease, so
 * a busy event loop keeps them. A job is ended by one of the methods that decide what happens to
 * the task, or by {@link leave}; the garbage collector leaves a job that is no longer referenced.
 * Methods that end a job wait for a renewal that is in progress and return what was modified. They
 * reject with {@link LeaseLostError} if the lease was lost, and with {@link DependencyError} if
 * something else that they name is not as required. After such an error the call can be repeated,
 * or the job ended in another way, while the lease lasts; the lease is no longer renewed.
 *
 * A job leases under its own claimant, `job.task.claimant`. So no two jobs hold the same
 * task or document, and only the job can end its task: {@link TaskStore.modify} is refused for
 * it.
 *
 * @example
 * import { connect } from 'millpond'
 *
 * const store = (await connect('memory:')).tasks('bank')
 * await store.modify({
 *   inserts: [{ queue: 'deposits', value: { to: 'ann', amount: 5 } }],
 *   docInserts: [{ namespace: 'accounts', key: 'ann', content: { balance: 7 } }]
 * })
 * await store.worker('deposits').drain(async (job) => {
 *   const { to, amount } = job.task.value
 *   const [account] = await job.claimDocs('accounts', to)
 *   const content = { balance: account.content.balance + amount }
 *   return { ...job.delete(), docChanges: [account.change({ content, release: true })] }
 * })
 * console.log((await store.listDocs('accounts')).docs[0].content) //=> { balance: 12 }
 */
export class Job<T = any> {
  private constructor()

  readonly task: Task<T>

  /** The task at its newest version. */
  readonly handle: TaskHandle

  readonly isLost: boolean

  readonly isLastAttempt: boolean

  readonly isCancelled: boolean

  /**
   * Aborts, with a {@link LeaseLostError}, if the lease is lost before the job has ended, which includes a stop that
   * gives the job back; with a `TimeoutError`, if the handler takes longer than the worker's `timeoutMs`. Pass it to
   * the calls of your work. It keeps neither the job nor the program alive.
   */
  readonly signal: AbortSignal

  readonly isEnded: boolean

  /**
   * A modification that deletes the task, which is the usual end of a job: add entries to it and
   * pass it to {@link finish}. Spread into another modification, it still deletes the task,
   * whatever the `deletes` of that modification are.
   */
  delete(): { deletes: TaskHandle[] }

  /**
   * Stops renewing the job; the task is available again when its lease expires. Does nothing after
   * the job has ended.
   */
  leave(): void

  /** {@link leave}, at the end of the block of an `await using`. */
  [Symbol.asyncDispose](): Promise<void>

  //! methods
}

/**
 * Something went wrong; the message is one line for people. There is a class for each kind of
 * error, with a code and a number that are the same in every language Millpond supports.
 *
 * An argument of a wrong type does not throw such an error: as with Node's own functions, it is a `TypeError` with code
 * `ERR_INVALID_ARG_TYPE`.
 *
 * @example
 * import { connect, MillpondError } from 'millpond'
 *
 * const client = await connect('memory:')
 * try {
 *   await client.ick('files').add([[NaN, 'a.txt']])
 * } catch (error) {
 *   if (!(error instanceof MillpondError)) throw error
 *   console.log(error.code, error.number, error.operation, error.retry)
 *   //=> INVALID_ARGUMENT 1 ick.add never
 * }
 */
export class MillpondError extends Error {
  constructor(message?: string, options?: { operation?: string | undefined; cause?: unknown })

  /** The stable name of the kind, such as `'CONNECTION_LOST'`. */
  readonly code: string
  /** The stable number of the kind. */
  readonly number: number
  /**
   * Whether a retry can help: `'never'`, not until something changes; `'later'`, nothing was done;
   * `'unknown'`, it may have been done, so check before you repeat it.
   */
  readonly retry: 'never' | 'later' | 'unknown'
  /** The operation that failed, such as `'ick.add'`; empty if there was none. */
  readonly operation: string

  /** The code of all errors of the class. */
  static readonly code: string
  /** Their number. */
  static readonly number: number
  /** Whether a retry can help. */
  static readonly retry: 'never' | 'later' | 'unknown'
}

/**
 * The value or the size of an argument is wrong. Nothing was sent. An argument of a wrong type is a TypeError; see
 * {@link MillpondError}.
 */
export class InvalidArgumentError extends MillpondError {}
//! errors
/**
 * A task or a document is not as a modification requires, a task or document to renew is not held,
 * or documents to claim are held by another claimant: nothing was done. The error lists everything
 * that is not as required.
 */
export class DependencyError extends MillpondError {
  //! fields tasks.Dependency
}
