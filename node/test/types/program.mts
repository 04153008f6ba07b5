// What users write, and what the declarations refuse.

import {
  type Added,
  Batches,
  Client,
  connect,
  type DeadLetter,
  type Entry,
  type Fields,
  Garbage,
  Ick,
  IckChannel,
  type Message,
  MillpondError,
  type Receipt,
  type Reclaimed,
  shard,
  ShuffleConsumer,
  type Messages,
  ShuffleQueue,
  type ShuffleStats,
  type Stats,
  TimeoutError,
  version
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
const message = await consumer.read({ blockMs: 1000 })
same<typeof message, Message<string> | null>(true)
const field: string | null = message!.field('a')
const deliveries: number | null = message!.deliveries
same<Message['bytes'], [field: Buffer, value: Buffer][]>(true)
same<Awaited<ReturnType<ShuffleConsumer<Buffer>['readMany']>>, Message<Buffer>[]>(true)
const loop: Messages = consumer.messages({ max: 10, waitMs: Infinity })
for await (const batch of loop) {
  same<typeof batch, Message<string>[]>(true)
  const acknowledged: number = await consumer.ackAndDelete(batch)
}
await consumer.ack(message!)
await consumer.extend([receipt, message!])
await consumer.ack({ stream: null, id: '1-1' })
const reclaimed: Reclaimed = await consumer.reclaim(60_000, 10)

const error: unknown = new TimeoutError('x', { operation: 'ick.add' })
if (error instanceof MillpondError) {
  const code: string = error.code
  const number: number = error.number + TimeoutError.number
  const retry: 'never' | 'later' | 'unknown' = error.retry
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
// @ts-expect-error a lease may be held by somebody else
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
// @ts-expect-error a promise
connect('memory:').ick('x')
// @ts-expect-error a signal is not its controller
await ick.add(['a'], { signal: new AbortController() })
// @ts-expect-error the code does not change
new TimeoutError().code = 'X'
// @ts-expect-error there is no default export
import millpond from 'millpond'
