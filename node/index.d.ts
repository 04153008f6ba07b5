/// <reference types="node" />

/** The version of this package and of the core in it. */
export const version: string

/** A name or a member: a string, which stands for its UTF-8, or bytes. A Buffer is a Uint8Array. */
export type Member = string | Uint8Array

/**
 * A score and a member. A score that is null, as that of a bare member, is the server's time in
 * seconds, with microseconds. It is any number but NaN; the lowest comes first.
 */
export type Pair = Member | readonly [score: number | null, member: Member]

/** A member and its score, as batches hold them. */
export type Entry<T extends string | Buffer = string> = [member: T, score: number]

/** What an add changed. */
export interface Added {
  /** Members that were not in the producer set. */
  new: number
  /** Members that were, and whose score went down. */
  lowered: number
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
  /** Members in both sets together; one that is in both counts twice. */
  totalSize: number
  psetMin: number | null
  psetMax: number | null
  csetMin: number | null
  csetMax: number | null
  totalMin: number | null
  totalMax: number | null
}

/** What every call takes that waits for a server or a disk. */
export interface CallOptions {
  /**
   * Gives up waiting: the call rejects with the signal's reason, an `AbortError` if none was
   * given. What a signal aborts before the call is not sent. What it aborts later may or may not
   * be done, as after a {@link TimeoutError}: look before you repeat it.
   */
  signal?: AbortSignal
}

/** What answers hold. */
export interface AnswerOptions {
  /**
   * Whether names and members in answers are Buffers, in place of strings. A string cannot hold
   * what is not UTF-8: where an answer has such a member, the call rejects with a TypeError with
   * code `ERR_ENCODING_INVALID_ENCODED_DATA`, and a batch stays reserved.
   */
  returnBuffers?: boolean
}

/** What {@link connect} takes beside the URL. */
export interface ConnectOptions extends AnswerOptions, CallOptions {
  /** For one call, in milliseconds, connecting and trying again included; 5,000 by default. */
  timeoutMs?: number
  /** For one attempt to connect, in milliseconds; 1,000 by default. */
  connectTimeoutMs?: number
  /**
   * Attempts after the first to connect, or to reach a server that is busy, loading or failing
   * over; 10 by default.
   */
  retries?: number
  /** The user; goes with a password. */
  username?: string
  /** The password, as it is: nothing is unescaped. */
  password?: string
  /** The name of the connections in `CLIENT LIST`. */
  clientName?: string
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
 * something to send. An embedded engine reads its log on a thread of its own, so the event loop
 * goes on however long that is.
 *
 * @throws {InvalidUrlError} for a URL or an option in it that is not known.
 * @throws {LockedError} if another process holds the directory.
 * @throws {CorruptError} if the directory is damaged.
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
  options?: ConnectOptions & { returnBuffers?: false }
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
 * A server or an embedded engine, and the way to the queues on it; made by {@link connect}. A
 * program ends when no call is under way, also with clients that are open.
 */
export class Client<T extends string | Buffer = string> {
  private constructor()

  /** The Ick of this name. Makes no call. */
  ick(name: Member, options?: { returnBuffers?: undefined }): Ick<T>
  ick(name: Member, options: { returnBuffers: false }): Ick<string>
  ick(name: Member, options: { returnBuffers: true }): Ick<Buffer>
  ick(name: Member, options?: AnswerOptions): Ick<string> | Ick<Buffer>

  /** The channel of 1 to 65,536 Icks of this name. Makes no call. */
  ickChannel(name: Member, shards: number, options?: { returnBuffers?: undefined }): IckChannel<T>
  ickChannel(name: Member, shards: number, options: { returnBuffers: false }): IckChannel<string>
  ickChannel(name: Member, shards: number, options: { returnBuffers: true }): IckChannel<Buffer>
  ickChannel(
    name: Member,
    shards: number,
    options?: AnswerOptions
  ): IckChannel<string> | IckChannel<Buffer>

  /**
   * Closes the client: calls reject with {@link ClosedError} from now on, and what an embedded
   * engine still holds back is written, on a thread of its own. A client that is forgotten does
   * the same when it is collected as garbage.
   *
   * @throws {StorageError} if the disk refuses the last write.
   */
  close(options?: CallOptions): Promise<void>

  /** {@link close}, at the end of the block of an `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * A dirty list with write-folding and two-phase commit; made by {@link Client.ick}.
 *
 * For sync pipelines (database to search index, crawlers, repair jobs): producers flag documents
 * as dirty, one consumer takes batches, works, and commits. A document that is dirtied again while
 * it is worked on is not forgotten, and one that is dirtied often keeps its place, since a member
 * keeps the lowest of its scores.
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

  /**
   * Flags members as dirty: each keeps the lower of its old and its new score.
   *
   * After {@link ConnectionLostError} the members may or may not be flagged; adding them again is
   * safe. Above 250,000 members it takes several steps, each atomic.
   *
   * @throws {InvalidArgumentError} for a NaN, or a member that is too long, before anything is
   * sent.
   */
  add(pairs: Iterable<Pair>, options?: CallOptions): Promise<Added>

  /**
   * Moves the lowest members to the consumer set until that holds `max`, and answers its first
   * `max` with their scores, lowest first.
   *
   * What was reserved before and not committed is part of the batch: a consumer that crashed gets
   * it again. With `backwash` everything that is reserved is first folded back, so that the batch
   * holds the lowest scores of both sets.
   */
  reserve(
    max: number | bigint,
    options?: CallOptions & { backwash?: boolean }
  ): Promise<Entry<T>[]>

  /**
   * Removes members that are done from the consumer set; answers how many were there. A member
   * that was added again meanwhile stays dirty.
   *
   * After {@link ConnectionLostError} or {@link TimeoutError} do not commit again, but reserve:
   * what comes is work to be done.
   */
  commit(members: Iterable<Member>, options?: CallOptions): Promise<number>

  /** Commits one batch and reserves the next in one step: one round trip a batch. */
  exchange(
    max: number | bigint,
    members?: Iterable<Member>,
    options?: CallOptions & { backwash?: boolean }
  ): Promise<Entry<T>[]>

  /** The sizes and score ranges of both sets, or null if there is no such Ick. */
  stats(options?: CallOptions): Promise<Stats<T> | null>

  /** The lowest members of one set with their scores; moves nothing. */
  peek(
    max: number | bigint,
    options?: CallOptions & { set?: 'producer' | 'consumer' }
  ): Promise<Entry<T>[]>

  /**
   * Removes the Ick's keys, whatever they hold: the way out of a broken Ick. Answers how many
   * there were.
   */
  delete(options?: CallOptions): Promise<number>

  /** {@link delete}, but Redis frees the memory in the background. */
  unlink(options?: CallOptions): Promise<number>

  /**
   * Takes the consumer lease for so many milliseconds, from 1 to a day; it is renewed until it is
   * released. Null if another consumer holds it. See {@link ConsumerLease}.
   */
  lease(ttlMs: number, options?: CallOptions): Promise<ConsumerLease<T> | null>

  /** The consumer's loop over batches of up to `max` members; see {@link Batches}. */
  batches(max: number | bigint, options?: BatchesOptions): Batches<T>
}

/** What a loop takes. */
export interface BatchesOptions extends CallOptions {
  /**
   * How long to wait for work when there is none, in milliseconds; the time starts anew with each
   * batch, and Infinity is for ever. Left out, the loop ends when there is nothing left. Waiting
   * costs the server next to nothing.
   */
  waitMs?: number
}

/**
 * A consumer's loop; made by `batches` of an Ick, a channel or a lease. Asking for the next batch
 * commits the one before, in one round trip.
 *
 * A loop that is left by an exception or by `break` leaves its batch reserved: the next reserve
 * brings it again. {@link commit} commits it. A signal that aborts while the loop waits ends it
 * with the signal's reason; a batch that was on its way comes with the next question.
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

  /**
   * The next batch. Ask for one at a time. After an error that trying again can mend the next
   * question goes on.
   */
  next(): Promise<IteratorResult<Entry<T>[], undefined>>

  /** Ends the loop and leaves the last batch reserved; what `break` calls. */
  return(): Promise<IteratorResult<Entry<T>[], undefined>>

  /**
   * Commits the last batch, for a loop that is left before its end; answers how many of its members
   * were still reserved, 0 if it was committed already.
   */
  commit(options?: CallOptions): Promise<number>

  [Symbol.asyncIterator](): this

  /** {@link return}, at the end of the block of an `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * The right to consume an Ick, for as long as it is held; made by {@link Ick.lease}.
 *
 * A native thread renews it, so a busy event loop keeps it. Calls through it carry its token: once
 * it is lost they reject with {@link LeaseLostError} and do nothing. One that is forgotten is given
 * back when it is collected as garbage; one whose process dies runs out.
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

  /** Whether the lease was lost or released: stop working on the batch. */
  readonly isLost: boolean

  /** {@link Ick.reserve} for the holder alone. */
  reserve(max: number | bigint, options?: CallOptions): Promise<Entry<T>[]>

  /** {@link Ick.commit} for the holder alone; at most 250,000 members. */
  commit(members: Iterable<Member>, options?: CallOptions): Promise<number>

  /** {@link Ick.exchange} for the holder alone. */
  exchange(
    max: number | bigint,
    members?: Iterable<Member>,
    options?: CallOptions
  ): Promise<Entry<T>[]>

  /** {@link Ick.batches} for the holder alone. */
  batches(max: number | bigint, options?: BatchesOptions): Batches<T>

  /**
   * Gives the lease back, so that another consumer can take it at once. Answers false if it was
   * not held any more.
   */
  release(options?: CallOptions): Promise<boolean>

  /** {@link release}, at the end of the block of an `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Several Icks that share the members of one dirty list, so that as many consumers can work at
 * once; made by {@link Client.ickChannel}. The Icks are named `name/0`, `name/1` and so on; a
 * member always lives in the same one.
 *
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

  /** How many Icks members are spread over. */
  readonly shards: number

  /** How many Icks consumers have to read, which is more while an earlier size is drained. */
  readonly readable: number

  /** The same channel for a consumer that also reads the Icks of an earlier, larger size. */
  draining(earlier: number): IckChannel<T>

  /** The Ick with this number. */
  ick(number: number): Ick<T>

  /** The number of the Ick in which this member lives. */
  ickOf(member: Member): number

  /**
   * Flags members as dirty, each in its Ick; see {@link Ick.add}. One step an Ick: after an error
   * some may have their members already; adding all of them again is safe.
   */
  add(pairs: Iterable<Pair>, options?: CallOptions): Promise<Added>

  /**
   * The loop of a consumer of the Icks with these numbers: takes from each in turn.
   *
   * @throws {InvalidArgumentError} for a number that the channel does not have, or no number.
   */
  batches(numbers: Iterable<number>, max: number | bigint, options?: BatchesOptions): Batches<T>
}

/**
 * Something went wrong; the message is one line for people. There is a class for each kind, with a
 * code and a number that are the same in every language Millpond has.
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
  constructor(message?: string, options?: { operation?: string; cause?: unknown })

  /** The stable name of the kind, such as `'CONNECTION_LOST'`. */
  readonly code: string
  /** The stable number of the kind. */
  readonly number: number
  /**
   * Whether the same call can help: `'never'`, not before something changes; `'later'`, nothing
   * was done; `'unknown'`, it may have been done, so look before you repeat it.
   */
  readonly retry: 'never' | 'later' | 'unknown'
  /** The operation that failed, such as `'ick.add'`; empty where none was under way. */
  readonly operation: string

  static readonly code: string
  static readonly number: number
  static readonly retry: 'never' | 'later' | 'unknown'
}

/** An argument is wrong: its type, its value or its size. Nothing was sent. */
export class InvalidArgumentError extends MillpondError {}
/** The URL or an option of the client is wrong. Nothing was sent. */
export class InvalidUrlError extends MillpondError {}
/** This name cannot be used on a cluster: its keys would lie in different slots. */
export class CrossSlotError extends MillpondError {}
/** A key of the queue holds something that is not the queue's. */
export class WrongTypeError extends MillpondError {}
/** The data was written by a version of the format that this version does not know. */
export class IncompatibleVersionError extends MillpondError {}
/** No connection could be made. Nothing was sent. */
export class ConnectionFailedError extends MillpondError {}
/** The connection broke after the call was sent: it may or may not have been done. */
export class ConnectionLostError extends MillpondError {}
/** No answer came in time: the call may or may not have been done. */
export class TimeoutError extends MillpondError {}
/** The server refused the user or the password. */
export class AuthenticationFailedError extends MillpondError {}
/** The server's access rules forbid this user the call. */
export class PermissionDeniedError extends MillpondError {}
/** The server is there but cannot do it now: loading, failing over, busy or read-only. */
export class UnavailableError extends MillpondError {}
/** The server has no memory left for writes. */
export class OutOfMemoryError extends MillpondError {}
/** The server answered an error that Millpond has no kind for. */
export class ServerError extends MillpondError {}
/** The lease had run out or belongs to somebody else: nothing was done. */
export class LeaseLostError extends MillpondError {}
/** Another process holds this directory. */
export class LockedError extends MillpondError {}
/** Stored data is damaged in a place that is not the torn end of an unfinished write. */
export class CorruptError extends MillpondError {}
/** The disk refused a write; what was not acknowledged may be lost. */
export class StorageError extends MillpondError {}
/** The embedded engine was opened before a fork; Node's own processes never meet this. */
export class ForkedError extends MillpondError {}
/** The client was closed. */
export class ClosedError extends MillpondError {}
/** The caller cancelled. It is not what an AbortSignal rejects with. */
export class CancelledError extends MillpondError {}
/** A bug in Millpond. */
export class InternalError extends MillpondError {}
