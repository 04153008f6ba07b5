'use strict'

const { count } = require('./results.js')
const check = require('./arguments.js')
const { begin, unwrap } = require('./calls.js')
const { atOnce, madeBy } = require('./errors.js')
const kinds = require('./generated/options.js')
const { ShuffleQueue: Native, shard: nativeShard } = require('./native.js')
const results = require('./shuffle-results.js')
const { deadline, fieldList, letterIds, messageList } = require('./shuffle-arguments.js')
const { ShuffleConsumer } = require('./shuffle-consumer.js')
const { Garbage } = require('./shuffle-garbage.js')
const { stepsOf } = require('./task-arguments.js')

const SIGNAL = { signal: check.abortSignal }
const TRACKED = { deadline, ...SIGNAL }
const GARBAGE = { timeDigits: check.smallSize, ...SIGNAL }
function shard(streams, streamsPerShard, shardKey) {
  const sizes = [
    check.smallSize('streams', streams),
    check.smallSize('streamsPerShard', streamsPerShard)
  ]
  const bytes = check.bytes(shardKey, 'shardKey')
  return atOnce(() => nativeShard(...sizes, bytes))
}

class ShuffleQueue {
  #native

  constructor(native) {
    this.#native = madeBy('shuffleQueue() of a client', native, Native)
  }

  async write(shardKey, fields, options) {
    const { signal } = check.options(options, SIGNAL)
    const key = check.bytes(shardKey, 'shardKey')
    const list = fieldList(fields, 'fields')
    const send = (number) => this.#native.write(number, key, list)
    return unwrap(await begin(signal, results.receipt, send))
  }

  async writeMany(messages, options) {
    const { signal } = check.options(options, SIGNAL)
    const { strings, counts } = messageList(messages)
    const send = (number) => this.#native.writeMany(number, strings, counts)
    return unwrap(await begin(signal, results.receipts, send))
  }

  async writeTracked(shardKey, fields, trackField, options) {
    const { deadline: until, signal } = check.options(options, TRACKED)
    const key = check.bytes(shardKey, 'shardKey')
    const list = fieldList(fields, 'fields')
    const field = check.bytes(trackField, 'trackField')
    const send = (number) => this.#native.writeTracked(number, key, list, field, until)
    return unwrap(await begin(signal, results.receipt, send))
  }

  async writeTrackedMany(messages, trackField, options) {
    const { deadline: until, signal } = check.options(options, TRACKED)
    const { strings, counts } = messageList(messages)
    const field = check.bytes(trackField, 'trackField')
    const send = (number) => this.#native.writeTrackedMany(number, strings, counts, field, until)
    return unwrap(await begin(signal, results.receipts, send))
  }

  async resize(streams, options) {
    const { signal } = check.options(options, SIGNAL)
    const size = check.smallSize('streams', streams)
    return unwrap(await begin(signal, count, (number) => this.#native.resize(number, size)))
  }

  async deleteTracked(value, options) {
    const { signal } = check.options(options, SIGNAL)
    const bytes = check.bytes(value, 'value')
    const send = (number) => this.#native.deleteTracked(number, bytes)
    return unwrap(await begin(signal, results.receipt, send))
  }

  async cordonDeadlineExceeded(withinMs, options) {
    const { signal } = check.options(options, SIGNAL)
    check.milliseconds('withinMs', withinMs)
    const send = (number) => this.#native.cordonDeadlineExceeded(number, withinMs)
    return unwrap(await begin(signal, results.cordoned, send))
  }

  gc(options) {
    const { timeDigits, signal } = check.options(options, GARBAGE)
    return new Garbage(atOnce(() => this.#native.gc(timeDigits)), signal)
  }

  consumer(group, consumer, options) {
    const names = [check.bytes(group, 'group'), check.bytes(consumer, 'consumer')]
    const { texts, numbers } = stepsOf(check.options(options, kinds.shuffleConsumer))
    return new ShuffleConsumer(atOnce(() => this.#native.consumer(...names, texts, numbers)))
  }

  async len(options) {
    const { signal } = check.options(options, SIGNAL)
    return unwrap(await begin(signal, count, (number) => this.#native.len(number)))
  }

  async backlog(options) {
    const { signal } = check.options(options, SIGNAL)
    return unwrap(await begin(signal, count, (number) => this.#native.backlog(number)))
  }

  async pendingCount(group, options) {
    const { signal } = check.options(options, SIGNAL)
    const name = check.bytes(group, 'group')
    return unwrap(await begin(signal, count, (number) => this.#native.pendingCount(number, name)))
  }

  async stats(group, options) {
    const { signal } = check.options(options, SIGNAL)
    const name = check.bytes(group, 'group')
    return unwrap(await begin(signal, results.stats, (number) => this.#native.stats(number, name)))
  }

  async deadLetters(max = 100, options = undefined) {
    const { signal } = check.options(options, SIGNAL)
    const most = check.smallSize('max', max)
    const send = (number) => this.#native.deadLetters(number, most)
    return unwrap(await begin(signal, results.deadLetters, send))
  }

  async deleteDeadLetters(letters, options) {
    const { signal } = check.options(options, SIGNAL)
    const ids = letterIds(letters)
    const send = (number) => this.#native.deleteDeadLetters(number, ids)
    return unwrap(await begin(signal, count, send))
  }
}

module.exports = { ShuffleQueue, shard }
