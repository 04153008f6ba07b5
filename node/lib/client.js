'use strict'

const check = require('./arguments.js')
const { nothing } = require('./results.js')
const { begin, native, unwrap } = require('./calls.js')
const { IckChannel } = require('./channel.js')
const { atOnce, invalid, madeBy } = require('./errors.js')
const { shuffleQueue } = require('./generated/options.js')
const { recovery } = require('./generated/records.js')
const { Ick } = require('./ick.js')
const { Client: Native } = require('./native.js')
const { of } = require('./reader.js')
const { ShuffleQueue } = require('./shuffle.js')
const { stepsOf } = require('./task-arguments.js')
const { TaskStore } = require('./tasks.js')

const CONNECT = {
  returnBuffers: check.flag,
  timeoutMs: check.someMilliseconds,
  connectTimeoutMs: check.someMilliseconds,
  retries: check.smallSize,
  username: check.text,
  password: check.text,
  clientName: check.text,
  signal: check.abortSignal
}
const HANDLE = { returnBuffers: check.flag }
const SHUFFLE_QUEUE = { ...shuffleQueue, ...HANDLE }
const TASKS = { claimant: check.text }
const readRecovery = of((reader) => reader.maybe(recovery))
const SIGNAL = { signal: check.abortSignal }

async function connect(url, options) {
  check.text('url', url)
  const { returnBuffers = false, signal, ...given } = check.options(options, CONNECT)
  if (given.username !== undefined && given.password === undefined) {
    throw invalid('username goes with a password')
  }
  const all = { text: !returnBuffers, ...given }
  const client = (made) => warned(new Client(made, returnBuffers))
  return unwrap(await begin(signal, client, (number) => native.connect(number, url, all)))
}

function warned(client) {
  for (const text of client.recovery()?.warnings ?? []) {
    process.emitWarning(text, 'MillpondWarning')
  }
  return client
}

class Client {
  #native
  #returnBuffers

  constructor(native, returnBuffers) {
    this.#native = madeBy('connect()', native, Native)
    this.#returnBuffers = returnBuffers
  }

  ick(name, options) {
    const bytes = check.bytes(name, 'name')
    return new Ick(atOnce(() => this.#native.ick(bytes, this.#isText(options))))
  }

  ickChannel(name, shards, options) {
    const bytes = check.bytes(name, 'name')
    const count = check.smallSize('shards', shards)
    const text = this.#isText(options)
    return new IckChannel(atOnce(() => this.#native.ickChannel(bytes, count, text)))
  }

  shuffleQueue(name, options) {
    const bytes = check.bytes(name, 'name')
    const { returnBuffers = this.#returnBuffers, ...given } = check.options(options, SHUFFLE_QUEUE)
    const { texts, numbers } = stepsOf(given)
    const make = () => this.#native.shuffleQueue(bytes, !returnBuffers, texts, numbers)
    return new ShuffleQueue(atOnce(make))
  }

  tasks(name, options) {
    const bytes = check.bytes(name, 'name')
    const { claimant } = check.options(options, TASKS)
    return new TaskStore(atOnce(() => this.#native.tasks(bytes, claimant)))
  }

  recovery() {
    return readRecovery(atOnce(() => this.#native.recovery()))
  }

  async close(options) {
    const { signal } = check.options(options, SIGNAL)
    return unwrap(await begin(signal, nothing, (number) => this.#native.close(number)))
  }

  [Symbol.asyncDispose]() {
    return this.close()
  }

  #isText(options) {
    const { returnBuffers = this.#returnBuffers } = check.options(options, HANDLE)
    return !returnBuffers
  }
}

module.exports = { connect, Client }
