// What may have no end is refused as it is read, before anything is sent.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connect, InvalidArgumentError } from 'millpond'

import { allRefused } from './support.mjs'

function* endless(value) {
  for (;;) yield value
}

const CALLS = [
  [({ ick }) => ick.add(endless('m')), 'pairs has more than 1000000 items'],
  [({ ick }) => ick.add(Array(1_000_001).fill('m')), 'pairs has more than 1000000 items'],
  [({ channel }) => channel.add(endless([1, 'm'])), 'pairs has more than 1000000 items'],
  [({ ick }) => ick.commit(endless('m')), 'members has more than 1000000 items'],
  [({ ick }) => ick.exchange(1, endless('m')), 'members has more than 250000 items'],
  [({ ick }) => ick.commit(endless('m'.repeat(2 ** 20))), 'up to members[1024] there are more than 1073741824'],
  [({ queue }) => queue.write('t', endless(['f', 'v'])), 'fields has more than 32768 items'],
  [({ queue }) => queue.writeMany(endless(['t', []])), 'messages has more than 1000000 items'],
  [({ queue }) => queue.writeMany([['t', endless(['f', 'v'])]]), 'messages[0][1] has more than 32768'],
  [
    ({ queue }) => queue.writeMany(endless(['t', { f: 'v'.repeat(2 ** 20) }])),
    'up to messages[1023][1][0][1] there are more than'
  ],
  [({ consumer }) => consumer.ack(endless({ stream: 0, id: '1-1' })), 'messages has more than 1000000'],
  [({ store }) => store.claim(endless('q')), 'queues has more than 1000 items'],
  [({ store }) => store.claimMany(endless('q'), 1), 'queues has more than 1000 items'],
  [({ store }) => store.fetch(endless('t')), 'ids has more than 10000 items'],
  [({ store }) => store.fetchDocs('n', endless('d')), 'ids has more than 10000 items'],
  [({ store }) => store.renew({ tasks: endless({ id: 't', version: 0 }) }), 'tasks has more than 100000'],
  [({ store }) => store.modify({ inserts: endless({ queue: 'q' }) }), 'inserts has more than 100000'],
  [({ store }) => store.queues({ prefixes: endless('q') }), 'prefixes has more than 10000 items'],
  [({ events }) => events.syncSchedules('app', 1, endless({ id: 'a', everyMs: 1_000 })), 'schedules has more than 10000 items'],
  [async ({ store }) => store.claims(endless('q')), 'queues has more than 1000 items'],
  [async ({ store }) => store.worker(endless('q')), 'queues has more than 1000 items'],
  [async ({ channel }) => channel.batches(endless(0), 1), 'numbers has more than 65536 items'],
  [({ hash }) => hash.setMany(endless(['f', 'v']), 1_000), 'fields has more than 10000 items'],
  [({ hash }) => hash.getMany(endless('f')), 'fields has more than 10000 items'],
  [({ hash }) => hash.delete(endless('f')), 'fields has more than 10000 items'],
  [({ tracker }) => tracker.add(endless('a')), 'ids has more than 1000 items'],
  [({ tracker }) => tracker.areQueued(endless('a')), 'ids has more than 1000 items'],
  [({ tracker }) => tracker.advance('', endless('1'), ['a']), 'rows has more than 1000 items'],
  [({ tracker }) => tracker.advance('', ['1'], endless('a')), 'ids has more than 1000 items'],
  [({ tracker }) => tracker.remove(endless('a'), ['a'], 1), 'ids has more than 1000 items'],
  [({ tracker }) => tracker.remove(['a'], endless('a'), 1), 'sampled has more than 1000 items'],
  [({ tracker }) => tracker.scan(() => endless([1, 'a'])), 'what rows() returned has more than 1000 items'],
  [({ tracker }) => tracker.prune(() => endless('a')), 'what done() returned has more than 1000 items']
]

test('calls', { timeout: 120_000 }, async () => {
  const client = await connect('memory:')
  const queue = client.shuffleQueue('x')
  const made = {
    ick: client.ick('x'),
    channel: client.ickChannel('x', 2),
    queue,
    consumer: queue.consumer('g', 'c'),
    store: client.tasks('x'),
    events: client.events('x'),
    hash: client.volatileHash('x'),
    tracker: client.queueTracker('x')
  }
  // What is to be pruned.
  await made.tracker.add(['a'])
  await allRefused(CALLS, made)
  assert.equal(await made.ick.stats(), null)
  assert.equal(await queue.len(), 0)
  assert.deepEqual(await made.store.queues(), new Map())
  assert.deepEqual(await made.hash.stats(), { fields: 0, expired: 0, locks: 0 })
  const { oldest: _, ...tracked } = await made.tracker.stats()
  assert.deepEqual(tracked, { ids: 1, rounds: 0, row: null })
})

test('a generator is closed where reading it ends', async () => {
  let isClosed = false
  const ids = (function* () {
    try {
      for (;;) yield 'id'
    } finally {
      isClosed = true
    }
  })()
  await assert.rejects((await connect('memory:')).tasks('x').fetch(ids), InvalidArgumentError)
  assert.ok(isClosed)
})
