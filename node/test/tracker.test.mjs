// Queue trackers: which ids have work queued in a database of the program's own.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connect, WrongTypeError } from 'millpond'

import { sharedServer } from './servers.mjs'
import { allRefused, detached, newName, onEveryBackend, refused } from './support.mjs'

const BYTES = 'has to be a string or a Uint8Array'
const BROKEN = Buffer.from([0xff, 0])
const UNREADABLE = { name: 'TypeError', code: 'ERR_ENCODING_INVALID_ENCODED_DATA', message: /returnBuffers/ }
const CENTURY_MS = 3_155_760_000_000
const NOTHING = { ids: 0, rounds: 0, oldest: null, row: null }

const unused = () => assert.fail('it is not called')
const idsOf = (all) => all.map(({ id }) => id)

onEveryBackend('ids are added, listed and forgotten', async ({ connect, name }) => {
  const tracker = (await connect()).queueTracker(name)
  assert.deepEqual(await tracker.stats(), NOTHING)
  assert.equal(await tracker.isQueued('ann'), false)
  assert.equal(await tracker.add(['bob', Buffer.from('ann'), 'bob']), undefined)
  await tracker.add((function* () { yield 'eve' })())
  assert.equal(await tracker.isQueued(Buffer.from('ann')), true)
  assert.deepEqual(await tracker.areQueued(new Set(['eve', 'joe', 'bob'])), [true, false, true])
  assert.equal(await tracker.len(), 3)
  const all = await tracker.ids()
  assert.deepEqual(idsOf(all), ['ann', 'bob', 'eve'])
  const [first, same, last] = all.map(({ stamp }) => stamp)
  assert.ok(Number.isSafeInteger(first) && first === same && same < last, `${first} ${same} ${last}`)
  assert.deepEqual(await tracker.ids({ limit: 1 }), all.slice(0, 2))
  assert.deepEqual(await tracker.ids({ after: first, limit: 10n }), all.slice(2))
  assert.deepEqual(await tracker.ids({ after: BigInt(last) }), [])
  assert.deepEqual(await tracker.stats(), { ids: 3, rounds: 0, oldest: first, row: null })
  await tracker.add(['ann'])
  assert.deepEqual(idsOf(await tracker.ids()), ['bob', 'eve', 'ann'])
  assert.equal(await tracker.clear(), 3)
  assert.deepEqual(await tracker.stats(), NOTHING)
})

onEveryBackend('a scan goes on where the last one ended', async ({ connect, name }) => {
  const tracker = (await connect()).queueTracker(name)
  const seen = []
  const scan = (returned, options) => tracker.scan((...given) => seen.push(given) && returned, options)
  const numbers = [[7, 'ann'], [8n, Buffer.from('bob')]]
  assert.deepEqual(await scan(numbers, { limit: 2 }), { rows: 2, added: 2, more: true })
  const texts = Promise.resolve([['x/1', 'ann'], ['é', null]])
  assert.deepEqual(await scan(texts, { limit: 2n }), { rows: 2, added: 0, more: true })
  const { oldest, ...stats } = await tracker.stats()
  assert.deepEqual(stats, { ids: 2, rounds: 0, row: 'é' })
  const map = new Map([[-1, 'eve'], ['x/3', '']])
  assert.deepEqual(await scan(map), { rows: 2, added: 1, more: false })
  assert.deepEqual(await tracker.stats(), { ids: 3, rounds: 1, oldest, row: null })
  const generator = (function* () { yield [2 ** 53 - 1, 'ann'] })()
  assert.deepEqual(await scan(generator, { roundMinMs: CENTURY_MS }), { rows: 1, added: 0, more: false })
  assert.deepEqual(await scan([], { roundMinMs: 0.5 }), { rows: 0, added: 0, more: false })
  assert.deepEqual(seen, [[null, 2], ['8', 2], ['é', 25], [null, 25], ['9007199254740991', 25]])
})

onEveryBackend('a prune removes what has no work any more', async ({ connect, name }) => {
  const tracker = (await connect()).queueTracker(name)
  await tracker.add(['ann', 'bob'])
  await tracker.add(['eve'])
  const seen = []
  const prune = (returned, options) => tracker.prune((...given) => seen.push(given) && returned, options)
  assert.deepEqual(await prune(['ann'], { limit: 2 }), { checked: 2, removed: 1 })
  const eve = new Set([Buffer.from('eve')])
  assert.deepEqual(await prune(Promise.resolve(eve), { limit: 1n }), { checked: 1, removed: 1 })
  assert.deepEqual(await prune((function* () {})()), { checked: 1, removed: 0 })
  assert.deepEqual(seen, [[['ann', 'bob']], [['eve']], [['bob']]])
  assert.deepEqual(await tracker.areQueued(['ann', 'bob', 'eve']), [false, true, false])
  // The array is the function's own.
  assert.deepEqual(await tracker.prune((ids) => ids.splice(0)), { checked: 1, removed: 1 })
  assert.deepEqual(await tracker.prune(unused), { checked: 0, removed: 0 })
})

onEveryBackend('what is added or scanned while it is checked stays', async ({ connect, name }) => {
  const tracker = (await connect()).queueTracker(name)
  await tracker.add(['ann', 'bob', 'eve'])
  const done = async (ids) => {
    await tracker.add(['ann'])
    await tracker.scan(() => [[1, 'bob']])
    return ids
  }
  assert.deepEqual(await tracker.prune(done), { checked: 3, removed: 1 })
  assert.deepEqual(await tracker.areQueued(['ann', 'bob', 'eve']), [true, true, false])
})

onEveryBackend('the halves of a scan and of a prune', async ({ connect, name }) => {
  const tracker = (await connect()).queueTracker(name)
  assert.deepEqual(await tracker.beginScan({ limit: 2n, roundMinMs: 1.5 }), NOTHING)
  const rows = new Set(['1', Buffer.from('2')])
  assert.deepEqual(await tracker.advance('', rows, ['ann', ''], { limit: 2 }), { rows: 2, added: 1, more: true })
  assert.deepEqual(await tracker.advance('', ['3'], ['bob'], { limit: 1 }), { rows: 0, added: 0, more: true })
  assert.equal((await tracker.beginScan()).row, '2')
  const first = await tracker.sample({ limit: 1 })
  assert.deepEqual(first.ids, ['ann'])
  assert.deepEqual(await tracker.remove([], first.ids, first.stamp), { checked: 1, removed: 0 })
  const second = await tracker.sample()
  const ann = new Set([Buffer.from('ann')])
  assert.deepEqual(await tracker.remove(ann, second.ids, BigInt(first.stamp)), { checked: 1, removed: 0 })
  assert.deepEqual(await tracker.remove(ann, second.ids, second.stamp), { checked: 1, removed: 1 })
  assert.deepEqual((await tracker.sample()).ids, [])
})

test('both halves have the options of the call', async () => {
  const tracker = (await connect('memory:')).queueTracker('x')
  const options = { limit: 1 }
  const rows = () => [[options.limit++, 'ann']]
  // With the other limit it would be the last page.
  assert.deepEqual(await tracker.scan(rows, options), { rows: 1, added: 1, more: true })
})

test('an abort ends a scan and a prune after their function', async () => {
  const tracker = (await connect('memory:')).queueTracker('x')
  const reason = new RangeError('no more time')
  const isReason = (error) => error === reason
  for (const [call, returned] of [['scan', [[1, 'bob']]], ['prune', ['ann']]]) {
    await tracker.add(['ann'])
    const controller = new AbortController()
    const called = () => controller.abort(reason) ?? returned
    await assert.rejects(tracker[call](called, { signal: controller.signal }), isReason)
    assert.deepEqual([await tracker.areQueued(['ann', 'bob']), (await tracker.stats()).row], [[true, false], null])
  }
})

onEveryBackend('what a function throws comes out unchanged', async ({ connect, name }) => {
  const tracker = (await connect()).queueTracker(name)
  await tracker.add(['ann'])
  await tracker.add(['bob'])
  for (const thrown of [new Error('boom'), 'boom', undefined, null]) {
    for (const failing of [
      () => { throw thrown },
      async () => { throw thrown },
      () => Object.defineProperty({}, 'then', { get: () => { throw thrown } }),
      function* () { throw thrown }
    ]) {
      for (const call of ['scan', 'prune']) {
        await assert.rejects(tracker[call](failing, { limit: 2 }), (error) => error === thrown)
      }
    }
  }
  const { ids, rounds, row } = await tracker.stats()
  assert.deepEqual([ids, rounds, row], [2, 0, null])
  // After a check that failed the next one has a single id.
  assert.deepEqual(await tracker.prune(() => []), { checked: 1, removed: 0 })
  assert.deepEqual(await tracker.prune((ids) => ids), { checked: 2, removed: 2 })
})

onEveryBackend('bytes', async ({ connect, name }) => {
  const client = await connect()
  const [tracker, buffers] = [client.queueTracker(name), client.queueTracker(name, { returnBuffers: true })]
  await tracker.scan(() => [[1, 'é'], [2, BROKEN]])
  assert.deepEqual(await tracker.areQueued(['é', BROKEN]), [true, true])
  await assert.rejects(tracker.ids(), UNREADABLE)
  assert.deepEqual(idsOf(await buffers.ids()), [Buffer.from('é'), BROKEN])
  await assert.rejects(tracker.prune(unused), UNREADABLE)
  // That was a check that failed, so the next ones have a single id.
  assert.deepEqual(await tracker.prune((ids) => ids.filter((id) => id === 'é')), { checked: 1, removed: 1 })
  await assert.rejects(tracker.sample(), UNREADABLE)
  assert.deepEqual((await buffers.sample()).ids, [BROKEN])
  const done = (ids) => ids.map((id) => new Uint8Array(id))
  assert.deepEqual(await buffers.prune(done), { checked: 1, removed: 1 })
  // A generator may use a Buffer again.
  const reused = Buffer.alloc(1)
  const letters = function* (wrap) {
    for (const letter of 'abc') yield reused.write(letter) && wrap(letter)
  }
  await tracker.scan(() => letters((letter) => [letter, reused]))
  assert.deepEqual(await tracker.areQueued(['a', 'b', 'c']), [true, true, true])
  assert.deepEqual(await tracker.prune(() => letters(() => reused)), { checked: 3, removed: 3 })
})

/** What a scan's function returns, and what the error says. */
const WRONG_ROWS = [
  [undefined, 'what rows() returned has to be an iterable, such as an array, not undefined', TypeError],
  [Buffer.from('ab'), 'what rows() returned has to be an iterable, such as an array, not Buffer', TypeError],
  [{ 1: 'ann' }, 'what rows() returned has to be an iterable, such as an array, not Object', TypeError],
  [(async function* () {})(), 'what rows() returned has to be an iterable, such as an array, not an object', TypeError],
  [Array(1_001).fill([1, 'ann']), 'what rows() returned has more than 1000 items'],
  [['ab'], 'rows()[0] has to be [row, id], not a string', TypeError],
  [[[1, 'ann'], [2]], 'rows()[1] has to be [row, id], not an array of 1', TypeError],
  [[{ number: 1, id: 'ann' }], 'rows()[0] has to be [row, id], not Object', TypeError],
  [[[null, 'ann']], 'rows()[0][0] has to be a string or a whole number, not null', TypeError],
  [[[Buffer.from('1'), 'ann']], 'rows()[0][0] has to be a string or a whole number, not Buffer', TypeError],
  [[[1, 'ann'], [1.5, 'ann']], 'rows()[1][0] is 1.5, which is not an exact whole number'],
  [[[2 ** 53, 'ann']], 'rows()[0][0] is 9007199254740992, which is not an exact whole number'],
  [[['\ud800', 'ann']], 'rows()[0][0] has half a surrogate pair'],
  [[['', 'ann']], 'a row has 0 bytes; 1 to 1024 are allowed'],
  [[[1, undefined]], `rows()[0][1] ${BYTES}`, TypeError],
  [[[1, 'ann'], [2, 7]], `rows()[1][1] ${BYTES}`, TypeError],
  [[[1, detached()]], 'rows()[0][1] is detached'],
  [[[1, 'x'.repeat(513)]], 'an id has 513 bytes; 1 to 512 are allowed'],
  [Array(25).fill(['5', 'bob']), 'the rows end where they began']
]

/** The same of a prune. */
const WRONG_IDS = [
  [undefined, 'what done() returned has to be an iterable, such as an array, not undefined', TypeError],
  ['ann', 'what done() returned has to be an iterable, such as an array, not a string', TypeError],
  [['ann', null], `done()[1] ${BYTES}`, TypeError],
  [['\ud800'], 'done()[0] has half a surrogate pair'],
  [['ann', 'bob'], '1 of the ids to remove were not sampled']
]

onEveryBackend('wrong results of functions', async ({ connect, name }) => {
  const tracker = (await connect()).queueTracker(name)
  await tracker.scan(() => [['5', 'ann']], { roundMinMs: CENTURY_MS })
  const calls = [['scan', WRONG_ROWS], ['prune', WRONG_IDS]].flatMap(([call, rows]) =>
    rows.map(([returned, ...error]) => [() => tracker[call](async () => returned), ...error])
  )
  await allRefused(calls)
  const { row } = await tracker.stats()
  assert.deepEqual([row, idsOf(await tracker.ids())], ['5', ['ann']])
})

const CALLS = [
  [(it) => it.scan(), 'rows has to be a function, not undefined', TypeError],
  [(it) => it.scan(unused, 5), 'options has to be an object, not a number', TypeError],
  [(it) => it.scan(unused, { limit: '1' }), 'limit has to be a whole number, not a string', TypeError],
  [(it) => it.scan(unused, { limit: 0 }), 'the limit is 0, not 1 to 1000'],
  [(it) => it.scan(unused, { limit: 1_001n }), 'the limit is 1001, not 1 to 1000'],
  [(it) => it.scan(unused, { roundMinMs: Infinity }), 'more than 100 years'],
  [(it) => it.scan(unused, { roundMin: 1 }), 'the option roundMin is not known'],
  [(it) => it.prune(), 'done has to be a function, not undefined', TypeError],
  [(it) => it.prune(unused, { limit: 0 }), 'the limit is 0, not 1 to 1000'],
  [(it) => it.prune(unused, { roundMinMs: 1 }), 'the option roundMinMs is not known'],
  [(it) => it.add('ann'), 'ids has to be an iterable', TypeError],
  [(it) => it.add([7]), `ids[0] ${BYTES}`, TypeError],
  [(it) => it.add([]), 'the call names no id'],
  [(it) => it.add(['']), 'an id has 0 bytes; 1 to 512 are allowed'],
  [(it) => it.isQueued(), `id ${BYTES}`, TypeError],
  [(it) => it.areQueued([]), 'the call names no id'],
  [(it) => it.ids({ limit: 0 }), 'the limit is 0, not 1 to 1000'],
  [(it) => it.beginScan({ roundMinMs: CENTURY_MS + 1 }), 'more than 100 years'],
  [(it) => it.advance(null, ['1'], ['a']), 'after has to be a string, not null', TypeError],
  [(it) => it.advance('', '1', ['a']), 'rows has to be an iterable', TypeError],
  [(it) => it.advance('', ['1'], []), 'there are more rows than ids'],
  [(it) => it.advance('', [], ['a']), 'there are more ids than rows'],
  [(it) => it.advance('', [BROKEN], ['a']), 'a row is not UTF-8'],
  [(it) => it.sample({ limit: 0 }), 'the limit is 0, not 1 to 1000'],
  [(it) => it.remove(['a'], [], 1), '1 of the ids to remove were not sampled'],
  [(it) => it.remove([], 'a', 1), 'sampled has to be an iterable', TypeError],
  [(it) => it.remove([], ['a']), 'stamp has to be a whole number, not undefined', TypeError]
]

onEveryBackend('wrong arguments', async ({ connect, name }) => {
  const client = await connect()
  const tracker = client.queueTracker(name)
  await allRefused(CALLS, tracker)
  assert.deepEqual(await tracker.stats(), NOTHING)
  await assert.rejects(client.queueTracker('').len(), refused('name'))
  assert.throws(() => client.queueTracker(7), refused(`name ${BYTES}`, TypeError))
  assert.throws(() => client.queueTracker('x', { returnBuffers: 1 }), refused('returnBuffers', TypeError))
})

test('keys of another type', async () => {
  const client = await connect((await sharedServer()).url)
  const name = newName()
  await client.ick(`{${name}}:tracker`).add(['a'])
  const tracker = client.queueTracker(name)
  for (const call of ['scan', 'prune']) await assert.rejects(tracker[call](unused), WrongTypeError)
  await assert.rejects(tracker.add(['a']), WrongTypeError)
  await assert.rejects(tracker.len(), WrongTypeError)
  await client.close()
})
