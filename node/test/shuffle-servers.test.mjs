// What a shuffle queue does on servers and files alone.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connect, WrongTypeError } from 'millpond'
import { Redis } from 'ioredis'

import { sharedServer } from './servers.mjs'
import { directory, newName } from './support.mjs'

test('a preferred stream and the default stream', async () => {
  const { url } = await sharedServer()
  const name = newName()
  const client = await connect(url)
  const queue = client.shuffleQueue(name, { streams: 2, streamsPerShard: 2 })
  const redis = new Redis(url)
  await redis.xadd(name, '1-1', 'n', 'before')
  redis.disconnect()
  const written = await queue.writeMany(
    ['1', '2', '3', '4'].map((number) => ['tenant', { n: number }])
  )
  assert.equal((await queue.consumer('g', 'c').readMany(10)).length, 4)
  const group = (options) => queue.consumer('h', 'c', options)
  assert.equal((await group().readMany(2)).length, 2) // the group has joined both streams
  const { stream } = written[0]
  const preferring = await group({ preferStream: stream }).read()
  assert.equal(preferring.stream, stream)
  const everything = await group({ defaultStream: true }).readMany(10)
  const old = everything.find((message) => message.stream === null)
  assert.deepEqual([old.id, old.field('n')], ['1-1', 'before'])
  assert.equal(await group({ defaultStream: true }).ackAndDelete(old), 1)
  await client.close()
})

test('a time to live', async () => {
  const { url } = await sharedServer()
  const name = newName()
  const client = await connect(url)
  const queue = client.shuffleQueue(name, { ttlMs: 100_000.5 })
  const { stream } = await queue.write('tenant', { n: '1' })
  const redis = new Redis(url)
  const left = await redis.pttl(`${name}:s${stream}`)
  redis.disconnect()
  assert.ok(left > 40_000 && left <= 100_000, `${left}`)
  await client.close()
})

test('a key that holds something else', async () => {
  const { url } = await sharedServer()
  const name = newName()
  const redis = new Redis(url)
  await redis.set(`${name}:meta`, 'x')
  redis.disconnect()
  const client = await connect(url)
  await assert.rejects(client.shuffleQueue(name).write('tenant', { n: '1' }), (error) => {
    assert.ok(error instanceof WrongTypeError)
    assert.equal(error.operation, 'shuffle.write')
    assert.ok(error.message.includes(`${name}:meta`), error.message)
    return true
  })
  await client.close()
})

test('a file keeps its queues', async () => {
  const url = `file:${await directory()}`
  const client = await connect(url)
  await client.shuffleQueue('jobs').write('tenant', { n: '1' })
  const message = await client.shuffleQueue('jobs').consumer('g', 'c').read()
  await client.close()
  const again = await connect(url)
  const queue = again.shuffleQueue('jobs')
  const { messages } = await queue.consumer('g', 'other').reclaim(0, 1)
  assert.deepEqual(messages[0].fields, message.fields)
  assert.equal(messages[0].deliveries, 2)
  await again.close()
})
