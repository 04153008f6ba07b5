// Wrong arguments of task stores are refused before anything is sent, with the name and the place.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connect, Doc, Move, Retry, Task } from 'millpond'

import { allRefused, onEveryBackend, refused } from './support.mjs'

const TASK = new Task({ id: 't', version: 0, queue: 'q' })
const DOC = new Doc({ namespace: 'n', id: 'd' })
const LONG = 'x'.repeat(65)
const CENTURIES_MS = 4e12

const insert = (options) => ({ store }) => store.insert('q', 1, options)
const insertJson = (json) => ({ store }) => store.insert('q', undefined, { json })
const inserts = (entry) => ({ store }) => store.modify({ inserts: [entry] })
const change = (options) => ({ store }) => store.modify({ changes: [TASK.change(options)] })
const docInserts = (entry) => ({ store }) => store.modify({ docInserts: [entry] })

function nested(depth) {
  let value = []
  for (let level = 1; level < depth; level++) value = [value]
  return value
}

function circle() {
  const value = {}
  value.value = value
  return value
}

const CALLS = [
  [({ store }) => store.insert(), 'queue has to be a string, not undefined', TypeError],
  [({ store }) => store.insert(7, 1), 'queue has to be a string, not a number', TypeError],
  [({ store }) => store.insert('', 1), "the queue's name is empty"],
  [({ store }) => store.insert('x'.repeat(65_537), 1), '65537 bytes; 65536 are allowed'],
  [({ store }) => store.insert('\ud800', 1), 'queue has half a surrogate pair'],
  [({ store }) => store.insert('q', 1n), 'value cannot be written as JSON: Do not know how'],
  [({ store }) => store.insert('q', nested(101)), 'nested more than 100 deep'],
  [({ store }) => store.insert('q', nested(100_000)), 'value cannot be written as JSON: Maximum call'],
  [insertJson('"\\ud800"'), 'the value is not a JSON text that every language can read'],
  [({ store }) => store.insert('q', '\ud800'), 'value has half a surrogate pair'],
  [({ store }) => store.insert('q', { names: ['a', '\ud800'] }), 'value.names[1] has half a surrogate pair'],
  [({ store }) => store.insert('q', [{ '\udc00': 1 }]), 'value[0] has a key that has half a surrogate pair'],
  [({ store }) => store.insert('q', NaN), 'value is NaN, which JSON does not have'],
  [({ store }) => store.insert('q', { items: [1, { price: NaN }] }), 'value.items[1].price is NaN'],
  [({ store }) => store.insert('q', [-Infinity]), 'value[0] is -Infinity, which JSON does not have'],
  [({ store }) => store.insert('q', { 'a b': Infinity }), 'value["a b"] is Infinity'],
  [({ store }) => store.insert('q', { ['k'.repeat(50)]: NaN }), `value["${'k'.repeat(40)}…"] is NaN`],
  [({ store }) => store.insert('q', { at: new Date(NaN) }), 'value.at is an invalid date'],
  [({ store }) => store.insert('q', { made: { toJSON: () => [NaN] } }), 'value.made[0] is NaN'],
  [({ store }) => store.insert('q', Promise.resolve(1)), 'value is a promise; await it first'],
  [({ store }) => store.insert('q', [{ order: Promise.resolve(1) }]), 'value[0].order is a promise; await it'],
  [({ store }) => store.insert('q', { query: { then() {} } }), 'value.query is a promise; await it first'],
  [inserts({ queue: 'q', value: { a: NaN } }), 'inserts[0].value.a is NaN'],
  [({ store }) => store.putDoc('n', 'k', [Promise.resolve(1)]), 'content[0] is a promise; await it first'],
  [({ store }) => store.insert('q', new Map([['a', 1]])), 'value is a Map, which JSON does not have'],
  [({ store }) => store.insert('q', { tags: [new Set()] }), 'value.tags[0] is a Set, which JSON does not have'],
  [({ store }) => store.insert('q', { cause: new Error('no') }), 'value.cause is an Error, which JSON does not have'],
  [docInserts({ namespace: 'n', key: 'k', content: NaN }), 'docInserts[0].content is NaN'],
  [({ store }) => store.insert('q', undefined, { json: '1e309' }), 'number out of range'],
  [({ store }) => store.insert('q', circle()), 'value cannot be written as JSON: Converting circular'],
  [({ store }) => store.insert('q', () => 1), 'value has to be something that JSON has, not a function'],
  [({ store }) => store.insert('q', Symbol('x')), 'value has to be something that JSON has, not a symbol'],
  [insert({ json: '2' }), 'value and json cannot both be given'],
  [({ store }) => store.insert('q', undefined, { json: '{' }), 'the value is not a JSON text'],
  [({ store }) => store.insert('q', undefined, { json: { a: 1 } }), 'json has to be a string, not Object', TypeError],
  [({ store }) => store.insert('q', 'x'.repeat(16 << 20)), '16777218 bytes; 16777216 are allowed'],
  [insert({ delay: 1 }), 'the option delay is not known; there is id, json, atMs, delayMs, attempt'],
  [insert({ value: 1 }), 'the option value is not known'],
  [insert({ id: '' }), 'the id is empty'],
  [insert({ id: LONG }), 'the id has 65 characters; 64 are allowed'],
  [insert({ id: 'a\0' }), 'the id holds a NUL character'],
  [insert({ id: 5 }), 'id has to be a string, not a number', TypeError],
  [insert({ atMs: new Date() }), 'atMs has to be a whole number, not Date', TypeError],
  [insert({ atMs: 1.5 }), 'atMs has to be a whole number, not 1.5'],
  [insert({ atMs: -1 }), 'atMs is negative'],
  [insert({ atMs: 2n ** 60n }), 'atMs is 1152921504606846976, which is too large'],
  [insert({ atMs: 253_402_300_800_000 }), 'behind the year 9999'],
  [insert({ delayMs: '1' }), 'delayMs has to be a number of milliseconds, not a string', TypeError],
  [insert({ delayMs: NaN }), 'delayMs is NaN'],
  [insert({ delayMs: CENTURIES_MS }), '100 years are allowed'],
  [insert({ delayMs: Infinity }), '100 years are allowed'],
  [insert({ atMs: 1, delayMs: 1 }), 'atMs and delayMs cannot both be given'],
  [insert({ attempt: -1 }), 'attempt is negative'],
  [insert({ attempt: 2 ** 32 }), 'attempt is 4294967296, which is too large'],
  [insert({ err: null }), 'err has to be a string, not null', TypeError],
  [insert({ err: 'x'.repeat(65_537) }), 'err has 65537 bytes; 65536 are allowed'],
  [insert({ priority: 10 }), 'the priority is 10; it goes from 0 to 9'],
  [insert({ priority: 1_000 }), 'priority is 1000, which is too large'],
  [insert({ ttlMs: 0 }), 'the time to live has to be a millisecond or more'],
  [insert({ ttlMs: CENTURIES_MS }), '100 years are allowed'],
  [insert({ skipColliding: 1 }), 'skipColliding has to be true or false', TypeError],
  [({ store }) => store.modify(), 'modification has to be an object, not undefined', TypeError],
  [({ store }) => store.modify({ delete: [] }), 'modification.delete is not known; there is inserts, '],
  [({ store }) => store.modify({ inserts: 5 }), 'inserts has to be an iterable', TypeError],
  [({ store }) => store.modify({ inserts: 'ab' }), 'inserts has to be an iterable', TypeError],
  [inserts('q'), 'inserts[0] has to be an object, not a string', TypeError],
  [inserts({}), 'inserts[0].queue has to be a string, not undefined', TypeError],
  [inserts({ queue: 'q', delay: 1 }), 'inserts[0].delay is not known; there is queue, value'],
  [inserts({ queue: 'q', value: 1n }), 'inserts[0].value cannot be written as JSON'],
  [inserts({ queue: 'q', value: 1, json: '1' }), 'inserts[0].value and json cannot both be given'],
  [({ store }) => store.modify({ changes: [TASK] }), 'changes[0] has to be what change() of a Task', TypeError],
  [({ store }) => store.modify({ deletes: TASK }), 'deletes has to be an iterable', TypeError],
  [({ store }) => store.modify({ deletes: ['t'] }), 'deletes[0] has to be an object, not a string', TypeError],
  [({ store }) => store.modify({ deletes: [TASK, { id: 't' }] }), 'deletes[1].version has to be a whole', TypeError],
  [({ store }) => store.modify({ deletes: [{ version: 0 }] }), 'deletes[0].id has to be a string', TypeError],
  [({ store }) => store.modify({ depends: [{ id: '', version: 0 }] }), 'the id is empty'],
  [({ store }) => store.modify({ deletes: [TASK], depends: [TASK] }), 'task t is named twice'],
  [({ store }) => store.modify({ deletes: Array(100_001).fill(TASK) }), 'deletes has more than 100000 items'],
  [change({ queue: '' }), "the queue's name is empty"],
  [change({ json: 'x' }), 'the value is not a JSON text'],
  [change({ err: 'x'.repeat(65_537) }), 'err has 65537 bytes'],
  [docInserts({ namespace: 'n', key: '' }), 'a document without a key needs an id'],
  [({ store }) => store.modify({ docPuts: [{ namespace: 'n', key: 'k' }] }), 'a document that is put needs a content'],
  [({ store }) => store.modify({ docPuts: [{ namespace: 'n' }] }), 'docPuts[0].key has to be a string', TypeError],
  [
    ({ store }) => store.modify({ docPuts: [{ namespace: 'n', key: 'k', content: 1, skipColliding: true }] }),
    'docPuts[0].skipColliding is not known'
  ],
  [({ store }) => store.putDoc('n', 'k'), 'a document that is put needs a content'],
  [({ store }) => store.putDoc('n', 7, 1), 'key has to be a string', TypeError],
  [({ store }) => store.putDoc('n', 'k', 1, { secondary: 's' }), 'secondary is not known'],
  [({ store }) => store.getDoc('n', 7), 'key has to be a string', TypeError],
  [({ store }) => store.getDoc('n', ''), 'the key is empty'],
  [({ store }) => store.getDoc('n', 'k', { secondaryKey: 7 }), 'secondaryKey has to be a string', TypeError],
  [docInserts({ namespace: 'n' }), 'docInserts[0].key has to be a string', TypeError],
  [docInserts({ key: 'k' }), 'docInserts[0].namespace has to be a string', TypeError],
  [docInserts({ namespace: LONG, key: 'k' }), 'the namespace has 65 characters; 64 are allowed'],
  [docInserts({ namespace: 'n', key: 'x'.repeat(257) }), 'the key has 257 characters; 256 are allowed'],
  [
    docInserts({ namespace: 'n', key: 'k', secondaryKey: 'x'.repeat(257) }),
    'the secondary key has 257 characters'
  ],
  [docInserts({ namespace: 'n', key: 'k', json: '' }), 'the content is not a JSON text'],
  [docInserts({ namespace: 'n', key: 'k', value: 1 }), 'docInserts[0].value is not known'],
  [docInserts({ namespace: 'n', key: 'k', content: 1n }), 'docInserts[0].content cannot be written'],
  [({ store }) => store.modify({ docChanges: [DOC] }), 'docChanges[0] has to be what change() of a Doc', TypeError],
  [({ store }) => store.modify({ docDeletes: [{ id: 'd', version: 0 }] }), 'docDeletes[0].namespace', TypeError],
  [({ store }) => store.modify({ docDepends: [DOC, DOC] }), 'document n/d is named twice'],
  [({ store }) => store.claim(), 'queues has to be an iterable, such as an array, not undefined', TypeError],
  [({ store }) => store.claim([]), 'a claim names at least one queue'],
  [({ store }) => store.claim(['q', 5]), 'queues[1] has to be a string, not a number', TypeError],
  [({ store }) => store.claim(''), "the queue's name is empty"],
  [
    ({ store }) => store.claim(Array.from({ length: 1_001 }, (_, n) => `${n}`)),
    'queues has more than 1000 items'
  ],
  [({ store }) => store.claim('q', { leaseMs: -1 }), 'leaseMs is -1; a time has to be 0 or more'],
  [({ store }) => store.claim('q', { leaseMs: CENTURIES_MS }), '100 years are allowed'],
  [({ store }) => store.claimMany('q'), 'max has to be a whole number, not undefined', TypeError],
  [({ store }) => store.claimMany('q', 0), 'a claim takes 1 to 1000 tasks, not 0'],
  [({ store }) => store.claimMany('q', 1_001), 'a claim takes 1 to 1000 tasks, not 1001'],
  [({ store }) => store.claims('q', { max: 0 }).next(), 'a claim takes 1 to 1000 tasks, not 0'],
  [({ store }) => store.claims([]).next(), 'a claim names at least one queue'],
  [({ store }) => store.worker([]).jobs().next(), 'a claim names at least one queue'],
  [({ store }) => store.worker([]).run(() => {}), 'a claim names at least one queue'],
  [({ store }) => store.worker('q').run(), 'handler has to be a function, not undefined', TypeError],
  [({ store }) => store.renew({}), 'there is nothing to renew'],
  [({ store }) => store.renew([TASK]), 'held.0 is not known; there is tasks, docs'],
  [({ store }) => store.renew({ tasks: [TASK, TASK] }), 'task t is named twice'],
  [({ store }) => store.renew({ docs: [TASK] }), 'docs[0].namespace has to be a string', TypeError],
  [({ store }) => store.fetch('abc'), 'ids has to be an iterable', TypeError],
  [({ store }) => store.fetch([]), 'a call names at least one id'],
  [({ store }) => store.fetch(Array(10_001).fill('a')), 'ids has more than 10000 items'],
  [({ store }) => store.list(), 'queue has to be a string', TypeError],
  [({ store }) => store.list('q', { limit: 0 }), 'a page has 1 to 10000 entries, not 0'],
  [({ store }) => store.list('q', { limit: 10_001 }), 'a page has 1 to 10000 entries, not 10001'],
  [({ store }) => store.list('q', { after: 5 }), 'after.atMs has to be a whole number', TypeError],
  [({ store }) => store.list('q', { after: { atMs: 1 } }), 'after.id has to be a string', TypeError],
  [({ store }) => store.list('q', { claimant: '' }), 'the claimant is empty'],
  [({ store }) => store.list('q', { omitValues: 1 }), 'omitValues has to be true or false', TypeError],
  [({ store }) => store.queues({ exact: 'q' }), 'exact has to be an iterable', TypeError],
  [({ store }) => store.queues({ exact: [''] }), "the queue's name is empty"],
  [({ store }) => store.queueStats({ prefixes: [5] }), 'prefixes[0] has to be a string', TypeError],
  [({ store }) => store.queueStats({ limit: 0 }), 'the limit has to be 1 to 100000'],
  [({ store }) => store.areEmpty(), 'the filter names no queue'],
  [({ store }) => store.claimDocs('n'), 'keys has to be an iterable', TypeError],
  [({ store }) => store.claimDocs('n', ['k', '']), 'the key is empty'],
  [({ store }) => store.claimDocs('n', []), 'a claim names at least one key'],
  [({ store }) => store.claimDocs('', 'k'), 'the namespace is empty'],
  [({ store }) => store.fetchDocs('n', []), 'a call names at least one id'],
  [({ store }) => store.listDocs('n', { after: {} }), 'after.key has to be a string', TypeError],
  [({ store }) => store.listDocs('n', { limit: 1.5 }), 'limit has to be a whole number, not 1.5'],
  [({ store }) => store.namespaceStats({ limit: 100_001 }), 'the limit has to be 1 to 100000'],
  [({ client }) => client.tasks('').time(), "the store's name is empty"],
  [({ client }) => client.tasks('x', { claimant: '' }).claim('q'), 'the claimant is empty'],
  [({ client }) => client.tasks('x', { claimant: LONG }).claim('q'), 'the claimant has 65 characters']
]

onEveryBackend('calls', async ({ connect, name }) => {
  const client = await connect()
  const store = client.tasks(name)
  await allRefused(CALLS, { client, store })
  assert.deepEqual(await store.queues(), new Map())
  assert.deepEqual(await store.namespaceStats(), [])
})

test('handles, changes and what handlers throw', async () => {
  const client = await connect('memory:')
  const store = client.tasks('x')
  for (const [call, message, Kind] of [
    [() => client.tasks('x', { returnBuffers: true }), 'returnBuffers is not known; there is claimant'],
    [() => client.tasks('x', { claimant: 5 }), 'claimant has to be a string', TypeError],
    [() => store.claims(), 'queues has to be an iterable', TypeError],
    [() => store.claims('q', { wait: 1 }), 'the option wait is not known; there is leaseMs, max'],
    [() => store.claims('q', { max: '1' }), 'max has to be a whole number', TypeError],
    [() => store.worker('q', { lease: 1 }), 'the option lease is not known; there is leaseMs'],
    [() => store.worker('q', { backoffMs: -1 }), 'backoffMs is -1'],
    [() => store.worker('q', { maxAttempts: 1.5 }), 'maxAttempts has to be a whole number'],
    [() => store.worker('q', { maxCrashes: -1 }), 'maxCrashes is negative'],
    [() => store.worker('q', { errorQueue: null }), 'errorQueue has to be a string', TypeError],
    [() => store.worker('q').jobs({ waitMs: 1 }), 'the option waitMs is not known; there is signal'],
    [() => new Task(), 'fields has to be an object, not undefined', TypeError],
    [() => new Task({}).change(), 'task.id has to be a string', TypeError],
    [() => new Task({ ...TASK, version: '1' }).change(), 'task.version has to be a whole number', TypeError],
    [() => TASK.change(5), 'options has to be an object, not a number', TypeError],
    [() => TASK.change({ delay: 5 }), 'delay is not known; there is value, queue, json, atMs, delayMs'],
    [() => TASK.change({ value: 1n }), 'value cannot be written as JSON'],
    [() => TASK.change({ value: Promise.resolve(1) }), 'value is a promise; await it first'],
    [() => DOC.change({ content: { price: NaN } }), 'content.price is NaN'],
    [() => TASK.change({ atMs: 1, delayMs: 1 }), 'atMs and delayMs cannot both be given'],
    [() => TASK.change().retry(5), 'err has to be a string', TypeError],
    [() => TASK.change().retryOrQuarantine('x', 'q'), 'max has to be a whole number', TypeError],
    [() => TASK.change().quarantine('x'), 'queue has to be a string', TypeError],
    [() => new Doc({}).change(), 'doc.namespace has to be a string', TypeError],
    [() => DOC.change({ release: true, atMs: 1 }), 'atMs and release cannot both be given'],
    [() => DOC.change({ json: null }), 'json has to be a string, not null', TypeError],
    [() => DOC.change({ queue: 'q' }), 'queue is not known; there is content, json, atMs'],
    [() => new Retry('x', { delay: 1 }), 'the option delay is not known; there is delayMs'],
    [() => new Retry('x', { delayMs: -1 }), 'delayMs is -1'],
    [() => new Retry(5), 'err has to be a string', TypeError],
    [() => new Move(), 'queue has to be a string', TypeError]
  ]) {
    assert.throws(call, refused(message, Kind))
  }
})

test('jobs', async () => {
  const store = (await connect('memory:')).tasks('x')
  await store.insert('q', 1)
  const { value: job } = await store.worker('q').jobs().next()
  await allRefused([
    [() => job.finish(), 'modification has to be an object', TypeError],
    [() => job.finish({ changes: [job.task] }), 'changes[0] has to be what change() of a Task makes', TypeError],
    [() => job.retry(5), 'err has to be a string', TypeError],
    [() => job.retry('x', { delayMs: '5' }), 'delayMs has to be a number of milliseconds', TypeError],
    [() => job.moveTo(), 'queue has to be a string', TypeError],
    [() => job.claimDocs('n'), 'keys has to be an iterable', TypeError]
  ])
  // What is passed would be lost without a word.
  assert.throws(() => job.delete({ inserts: [] }), refused('delete() takes no argument: what goes with it', TypeError))
  assert.equal(job.isLost, false)
  await job.done()
})

onEveryBackend('what is iterable or written as JSON and throws', async ({ connect, name }) => {
  const store = (await connect()).tasks(name)
  const broken = function* (value) {
    yield value
    throw new RangeError('in the iterable')
  }
  await assert.rejects(store.modify({ inserts: broken({ queue: 'q' }) }), RangeError)
  await assert.rejects(store.claim(broken('q')), RangeError)
  const value = {
    toJSON() {
      throw new RangeError('in toJSON')
    }
  }
  await assert.rejects(store.insert('q', value), RangeError)
  assert.deepEqual(await store.queues(), new Map())
})
