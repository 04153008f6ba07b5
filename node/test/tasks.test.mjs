// What each call of a task store does, on every backend.

import assert from 'node:assert/strict'

import { DependencyError, Doc, Task } from 'millpond'

import { collect, onEveryBackend } from './support.mjs'

const LONG_MS = 60_000

onEveryBackend('insert, claim and delete', async ({ connect, name }) => {
  const client = await connect()
  const store = client.tasks(name, { claimant: 'me' })
  assert.equal(store.claimant, 'me')
  assert.match(client.tasks(name).claimant, /^[0-9a-f]{16}$/)
  const before = await store.time()
  const task = await store.insert('inbox', { order: 7, to: 'é' })
  assert.ok(task instanceof Task)
  assert.match(task.id, /^[0-9a-f]{16}$/)
  const { createdMs, ...fields } = { ...task }
  assert.ok(createdMs >= before && createdMs <= (await store.time()))
  assert.deepEqual(fields, {
    id: task.id,
    version: 0,
    queue: 'inbox',
    atMs: createdMs,
    modifiedMs: createdMs,
    claimant: 'me',
    claims: 0,
    attempt: 0,
    err: '',
    json: '{"order":7,"to":"é"}',
    priority: 0,
    expiresMs: null,
    headers: []
  })
  const claimed = await store.claim('inbox', { leaseMs: LONG_MS })
  assert.deepEqual([claimed.id, claimed.version, claimed.claims], [task.id, 1, 1])
  assert.ok(claimed.atMs >= createdMs + LONG_MS)
  assert.deepEqual(claimed.value, { order: 7, to: 'é' })
  assert.equal(claimed.value, claimed.value)
  assert.equal(await store.claim(['inbox', 'other']), null)
  const nothing = { inserted: [], changed: [], insertedDocs: [], changedDocs: [] }
  assert.deepEqual(await store.modify({ deletes: [claimed] }), nothing)
  assert.deepEqual(await store.fetch([task.id]), [])
  assert.deepEqual(await store.modify({}), nothing)
})

onEveryBackend('all that an insert can say', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  const past = (await store.time()) - 5_000
  const given = { id: 'a', attempt: 3, err: 'before', priority: 9, ttlMs: LONG_MS }
  const task = await store.insert('q', null, { ...given, atMs: past })
  assert.deepEqual([task.id, task.atMs, task.attempt, task.err], ['a', past, 3, 'before'])
  assert.deepEqual([task.priority, task.json, task.value], [9, 'null', null])
  assert.equal(task.expiresMs, task.createdMs + LONG_MS)
  const later = await store.insert('q', 1, { delayMs: LONG_MS, atMs: undefined, priority: 1n })
  assert.equal(later.atMs, later.createdMs + LONG_MS)
  await assert.rejects(store.insert('q', 1, { id: 'a' }), { code: 'DEPENDENCY' })
  assert.equal(await store.insert('q', 1, { id: 'a', skipColliding: true }), null)
  const { inserted } = await store.modify({
    inserts: [
      { queue: 'q', id: 'a', skipColliding: true },
      { queue: 'q', id: 'b', json: ' [1, 2] ' }
    ]
  })
  assert.deepEqual(inserted.map(({ id, json }) => [id, json]), [['b', ' [1, 2] ']])
})

onEveryBackend('values are JSON, byte for byte', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  for (const value of ['', 'a\u0000\u2028😀', 0, -1.5, true, false, null, [], {}, [[{ a: [] }]]]) {
    const { id } = await store.insert('q', value)
    const [task] = await store.fetch([id])
    assert.deepEqual(task.value, value)
    assert.equal(task.json, JSON.stringify(value))
  }
  const dated = await store.insert('q', { at: new Date(0), left: undefined })
  assert.equal(dated.json, '{"at":"1970-01-01T00:00:00.000Z"}')
  // What a half would be written as, but as a text of its own.
  assert.equal((await store.insert('q', { a: '\\ud800' })).value.a, '\\ud800')
  const long = '{"b": 123456789012345678901234567890, "a": 1.0}'
  const task = await store.insert('q', undefined, { json: long })
  assert.equal((await store.fetch([task.id]))[0].json, long)
  assert.equal(task.value.b, 123456789012345680000000000000)
  const none = await store.insert('q')
  assert.deepEqual([none.json, none.value], [null, undefined])
  const large = 'é'.repeat(1_000_000)
  const { id } = await store.insert('q', large)
  assert.equal((await store.fetch([id]))[0].value, large)
})

onEveryBackend('changes', async ({ connect, name }) => {
  const store = (await connect()).tasks(name, { claimant: 'me' })
  const change = async (task, make) => (await store.modify({ changes: [make(task)] })).changed[0]
  const task = await store.insert('q', 1, { delayMs: LONG_MS, attempt: 1, err: 'first' })

  const freed = await change(task, (one) => one.change())
  assert.deepEqual([freed.version, freed.claimant, freed.value], [1, '', 1])
  assert.deepEqual([freed.attempt, freed.err, freed.createdMs], [1, 'first', task.createdMs])
  assert.equal(freed.atMs, freed.modifiedMs)

  const retried = await change(freed, (one) => one.change({ delayMs: LONG_MS }).retry('second'))
  assert.deepEqual([retried.attempt, retried.err], [2, 'first\nsecond'])
  assert.deepEqual([retried.atMs, retried.claimant], [retried.modifiedMs + LONG_MS, 'me'])

  const kept = await change(retried, (one) => one.change().retryOrQuarantine('third', 'err', 4n))
  assert.deepEqual([kept.queue, kept.attempt], ['q', 3])
  const aside = await change(kept, (one) => one.change().retryOrQuarantine('fourth', 'err', 4))
  assert.deepEqual([aside.queue, aside.attempt], ['err', 4])
  const again = await change(aside, (one) => one.change().quarantine('', 'worse'))
  assert.deepEqual([again.queue, again.attempt, again.err], ['worse', 5, aside.err])

  const set = { queue: 'q', value: { a: 1 }, attempt: 0, err: '', atMs: 5 }
  const reset = await change(again, (one) => one.change(set))
  assert.deepEqual([reset.queue, reset.json, reset.attempt], ['q', '{"a":1}', 0])
  assert.deepEqual([reset.err, reset.atMs], ['', 5])
  const raw = await change(reset, (one) => one.change({ json: '{"a": 1}' }).set({ err: 'x' }))
  assert.deepEqual([raw.json, raw.err], ['{"a": 1}', 'x'])
  const empty = await change(raw, (one) => one.change({ json: null }))
  assert.equal(empty.json, null)
  const nulled = await change(empty, (one) => one.change({ value: null }))
  assert.equal(nulled.json, 'null')
  // What crossed a thread, and a few fields of a task.
  const sent = await change(nulled, (one) => new Task(structuredClone(one)).change())
  assert.deepEqual([sent.json, sent.queue], ['null', 'q'])
  const few = await change(sent, ({ id, version }) => new Task({ id, version }).change({ queue: 'r' }))
  assert.deepEqual([few.json, few.queue], [null, 'r'])
})

onEveryBackend('all of a modification or nothing', async ({ connect, name }) => {
  const client = await connect()
  const store = client.tasks(name)
  const other = client.tasks(name)
  const [held, free, gone] = [
    await store.insert('q', 1, { id: 'held', delayMs: LONG_MS }),
    await store.insert('q', 1, { id: 'free' }),
    { id: 'gone', version: 2 }
  ]
  const doc = { namespace: 'n', key: 'k' }
  await store.modify({ docInserts: [{ ...doc, id: 'held' }, { ...doc, id: 'free', key: 'l' }] })
  const [heldDoc] = await store.claimDocs('n', 'k')
  const goneDoc = (id) => ({ namespace: 'n', id, version: 3 })
  const refused = other.modify({
    inserts: [{ queue: 'q', id: 'free' }, { queue: 'q', id: 'new' }],
    changes: [held.change(), new Task({ id: 'missing', version: 5, queue: 'q' }).change()],
    deletes: [gone],
    depends: [{ id: 'none', version: 0 }],
    docInserts: [{ ...doc, id: 'free' }],
    docChanges: [heldDoc.change(), new Doc(goneDoc('d1')).change()],
    docDeletes: [goneDoc('d2')],
    docDepends: [goneDoc('d3')]
  })
  await assert.rejects(refused, (error) => {
    assert.ok(error instanceof DependencyError)
    assert.deepEqual([error.code, error.number, error.retry], ['DEPENDENCY', 22, 'never'])
    assert.equal(error.operation, 'tasks.modify')
    assert.deepEqual(error.inserts, [{ id: 'free', version: free.version }])
    assert.deepEqual(error.changes, [{ id: 'missing', version: 5 }])
    assert.deepEqual(error.deletes, [gone])
    assert.deepEqual(error.depends, [{ id: 'none', version: 0 }])
    assert.deepEqual(error.claims, [{ id: 'held', version: 0 }])
    assert.deepEqual(error.docInserts, [{ namespace: 'n', id: 'free', version: 0 }])
    assert.deepEqual(error.docChanges, [goneDoc('d1')])
    assert.deepEqual(error.docDeletes, [goneDoc('d2')])
    assert.deepEqual(error.docDepends, [goneDoc('d3')])
    assert.deepEqual(error.docClaims, [{ namespace: 'n', id: 'held', version: 1 }])
    const { hasMissing, hasMissingDocs, hasClaims, hasClaimedDocs, hasCollisions } = error
    const all = [hasMissing, hasMissingDocs, hasClaims, hasClaimedDocs, hasCollisions]
    assert.deepEqual([...all, error.onlyClaims], [true, true, true, true, true, false])
    assert.match(error.message, /task gone is not at version 2 any more/)
    return true
  })
  assert.deepEqual(await store.queues(), new Map([['q', 2]]))
  await assert.rejects(other.modify({ deletes: [held] }), { onlyClaims: true, hasClaims: true })
  await assert.rejects(other.claimDocs('n', 'k'), { onlyClaims: true, hasClaimedDocs: true })
  await assert.rejects(other.renew({ docs: [heldDoc] }), { hasClaimedDocs: true, hasMissing: false })
  // Depending on what others hold is fine, and changes nothing.
  const done = await other.modify({ depends: [held], docDepends: [heldDoc], deletes: [free] })
  assert.deepEqual(done.changed, [])
  assert.equal((await store.fetch(['held']))[0].version, held.version)
})

onEveryBackend('a seed that runs twice', async ({ connect, name }) => {
  const client = await connect()
  const store = client.tasks(name)
  const seed = { docInserts: [{ namespace: 'accounts', key: 'ann', content: { balance: 100 } }] }
  assert.equal((await store.modify(seed)).insertedDocs[0].id, 'ann')
  await assert.rejects(store.modify(seed), (error) => {
    assert.deepEqual(error.docInserts, [{ namespace: 'accounts', id: 'ann', version: 0 }])
    return error.hasCollisions
  })
  const [account, ...others] = await store.claimDocs('accounts', 'ann')
  assert.deepEqual(others, [])
  const put = await store.putDoc('accounts', 'ann', { balance: 70 })
  assert.deepEqual([put.version, put.json, put.atMs], [2, '{"balance":70}', account.atMs])
  assert.deepEqual(await store.getDoc('accounts', 'ann'), put)
  assert.equal(await store.getDoc('accounts', 'ann', { secondaryKey: '2026' }), null)
  const options = { json: '[ ]', secondaryKey: '2026' }
  const second = await store.putDoc('accounts', 'ann', undefined, options)
  assert.deepEqual([second.id, second.json], ['ann|2026', '[ ]'])
  assert.deepEqual(await store.getDoc('accounts', 'ann', { secondaryKey: '2026' }), second)
  const { insertedDocs } = await store.modify({
    docPuts: [{ namespace: 'accounts', key: 'bob', content: null }, { ...seed.docInserts[0], content: 5 }],
    docInserts: [{ namespace: 'accounts', key: 'ann', id: 'own' }]
  })
  assert.deepEqual(insertedDocs.map((doc) => [doc.id, doc.version, doc.json]), [
    ['own', 0, null],
    ['bob', 0, 'null'],
    ['ann', 3, '5']
  ])
  await assert.rejects(client.tasks(name).putDoc('accounts', 'ann', 6), { hasClaimedDocs: true })
})

onEveryBackend('documents', async ({ connect, name }) => {
  const store = (await connect()).tasks(name, { claimant: 'me' })
  const keys = ['b', 'a', 'a', 'c']
  const { insertedDocs } = await store.modify({
    docInserts: keys.map((key, n) => ({ namespace: 'n', key, secondaryKey: `${9 - n}`, content: n }))
  })
  assert.deepEqual(insertedDocs.map((doc) => [doc.key, doc.content]), [['b', 0], ['a', 1], ['a', 2], ['c', 3]])
  const { docs, next } = await store.listDocs('n')
  assert.deepEqual(docs.map((doc) => doc.content), [2, 1, 0, 3])
  assert.equal(next, null)
  assert.ok(docs[0] instanceof Doc)
  const { id, createdMs } = docs[0]
  assert.deepEqual({ ...docs[0] }, {
    namespace: 'n',
    id,
    version: 0,
    key: 'a',
    secondaryKey: '7',
    json: '2',
    atMs: 0,
    claimant: '',
    createdMs,
    modifiedMs: createdMs
  })
  const range = await store.listDocs('n', { start: 'b', end: 'c', omitContents: true })
  assert.deepEqual(range.docs.map((doc) => [doc.key, doc.json, doc.content]), [['b', null, undefined]])
  const first = await store.listDocs('n', { limit: 3n })
  const rest = await store.listDocs('n', { after: first.next })
  assert.deepEqual([first.docs.length, rest.docs.length], [3, 1])
  assert.deepEqual((await store.listDocs('n', { after: first.docs[2] })).docs, rest.docs)

  const claimed = await store.claimDocs('n', 'a', { leaseMs: LONG_MS })
  assert.deepEqual(claimed.map((doc) => [doc.id, doc.version, doc.claimant]), [
    [docs[0].id, 1, 'me'],
    [docs[1].id, 1, 'me']
  ])
  assert.deepEqual(await store.namespaceStats(), [{ namespace: 'n', size: 4, claimed: 2 }])
  const change = async (doc, options) =>
    (await store.modify({ docChanges: [doc.change(options)] })).changedDocs[0]
  const kept = await change(claimed[0], { content: { x: 'é' } })
  assert.deepEqual([kept.claimant, kept.json, kept.atMs], ['me', '{"x":"é"}', claimed[0].atMs])
  const held = await change(kept, { delayMs: 2 * LONG_MS, json: '1.0' })
  assert.deepEqual([held.json, held.atMs], ['1.0', held.modifiedMs + 2 * LONG_MS])
  const released = await change(held, { release: true })
  assert.deepEqual([released.claimant, released.json], ['', '1.0'])
  const past = await change(claimed[1], { atMs: 1n })
  assert.deepEqual([past.claimant, past.atMs], ['', 1])
  assert.deepEqual(await store.fetchDocs('n', [past.id, 'none', released.id]), [past, released])
  const sent = new Doc(structuredClone(released)).change().set({ content: null })
  assert.equal((await store.modify({ docChanges: [sent], docDeletes: [past] })).changedDocs[0].json, 'null')
  assert.deepEqual(await store.claimDocs('n', 'none'), [])
})

onEveryBackend('listings and statistics', async ({ connect, name }) => {
  const store = (await connect()).tasks(name, { claimant: 'me' })
  const insert = (queue, id, more) => ({ queue, id, value: id, ...more })
  await store.modify({
    inserts: [
      insert('a/1', 'x', { atMs: 2 }),
      insert('a/1', 'z', { atMs: 1 }),
      insert('a/1', 'y', { atMs: 1 }),
      insert('a/2=', 'w', { delayMs: LONG_MS }),
      insert('b', 'v', { priority: 1 }),
      insert('b', 'u')
    ]
  })
  const page = await store.list('a/1', { limit: 2 })
  assert.deepEqual(page.tasks.map(({ id }) => id), ['y', 'z'])
  assert.deepEqual(page.next, { atMs: 1, id: 'z' })
  const rest = await store.list('a/1', { after: page.next, omitValues: true })
  assert.deepEqual(rest.tasks.map(({ id, json }) => [id, json]), [['x', null]])
  assert.equal(rest.next, null)
  assert.deepEqual((await store.list('a/1', { after: page.tasks[1] })).tasks.length, 1)
  const mine = await store.list('a/2=', { claimant: 'me' })
  assert.deepEqual(mine.tasks.map(({ id }) => id), ['w'])
  assert.deepEqual((await store.list('a/2=', { claimant: 'you' })).tasks, [])
  assert.deepEqual(await store.list('none'), { tasks: [], next: null })
  const fetched = await store.fetch(new Set(['w', 'none', 'y', 'x']))
  assert.deepEqual(fetched.map(({ id }) => id), ['w', 'y', 'x'])

  assert.equal((await store.claim('b')).id, 'v')
  const sizes = [['a/1', 3], ['a/2=', 1], ['b', 2]]
  assert.deepEqual(await store.queues(), new Map(sizes))
  assert.deepEqual(await store.queues({ limit: 1 }), new Map(sizes.slice(0, 1)))
  assert.deepEqual(await store.queues({ prefixes: ['a/'] }), new Map(sizes.slice(0, 2)))
  const some = { exact: ['b', 'none'], prefixes: new Set(['a/2']) }
  await store.pause('b')
  const [ready, held] = (await store.list('b')).tasks
  const none = { oldestAvailableMs: null, firstLeaseEndMs: null, retrying: 0 }
  const times = { oldestAvailableMs: ready.atMs, firstLeaseEndMs: held.atMs, retrying: 0 }
  assert.deepEqual(await store.queueStats(some), [
    { queue: 'a/2=', size: 1, available: 0, claimed: 0, future: 1, maxClaims: 0, paused: false, ...none },
    { queue: 'b', size: 2, available: 1, claimed: 1, future: 0, maxClaims: 1, paused: true, ...times }
  ])
  await store.resume('b')
  assert.equal(await store.areEmpty({ exact: ['b'] }), false)
  assert.equal(await store.areEmpty({ exact: ['none'], prefixes: ['c'] }), true)
})

onEveryBackend('many at once', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  const inserts = Array.from({ length: 1000 }, (_, n) => ({ queue: n % 2 ? 'a' : 'b', value: { n } }))
  const { inserted } = await store.modify({ inserts })
  assert.deepEqual(inserted.map((task) => task.value.n), inserts.map(({ value }) => value.n))
  const claimed = await store.claimMany(['a', 'b', 'a'], 1000n, { leaseMs: LONG_MS })
  assert.equal(new Set(claimed.map(({ id }) => id)).size, 1000)
  assert.deepEqual(await store.claimMany('a', 10), [])
  const { tasks, docs, atMs } = await store.renew({ tasks: claimed }, { leaseMs: 2 * LONG_MS })
  assert.deepEqual(tasks, claimed.map(({ id, version }) => ({ id, version: version + 1 })))
  assert.deepEqual(docs, [])
  assert.equal((await store.fetch([tasks[0].id]))[0].atMs, atMs)
  await store.modify({ deletes: (function* () { yield* tasks })() })
  assert.deepEqual(await store.queues(), new Map())
})

onEveryBackend('the loop of claims', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  await store.modify({ inserts: [1, 2, 3, 4, 5].map((value) => ({ queue: 'q', value })) })
  const batches = await collect(store.claims(['q'], { max: 2, leaseMs: LONG_MS }))
  assert.deepEqual(batches.map(({ length }) => length), [2, 2, 1])
  assert.deepEqual(batches.flat().map(({ value }) => value).sort(), [1, 2, 3, 4, 5])
})
