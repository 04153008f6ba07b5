// What users write, and what the declarations refuse.

import {
  type Added,
  Batches,
  Client,
  connect,
  type Entry,
  Ick,
  IckChannel,
  MillpondError,
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
const shard: number = channel.ickOf('a') + channel.shards + channel.readable
for await (const entries of channel.batches([0, 1], 10)) same<typeof entries, Entry<string>[]>(true)
same<ReturnType<typeof channel.ick>, Ick<string>>(true)

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
// @ts-expect-error a promise
connect('memory:').ick('x')
// @ts-expect-error a signal is not its controller
await ick.add(['a'], { signal: new AbortController() })
// @ts-expect-error the code does not change
new TimeoutError().code = 'X'
// @ts-expect-error there is no default export
import millpond from 'millpond'
