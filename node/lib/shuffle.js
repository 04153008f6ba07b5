'use strict'

const check = require('./arguments.js')
const { begin, unwrap } = require('./calls.js')
const { atOnce } = require('./errors.js')
const { SIGNAL, ShuffleQueue, ...handles } = require('./generated/handles.js')
const kinds = require('./generated/options.js')
const { made } = require('./generated/records.js')
const { nativeOf } = require('./handle.js')
const native = require('./native.js')
const { ofBytes } = require('./reader.js')
const { ShuffleWorker } = require('./shuffle-worker.js')
const { stepsOf } = require('./task-arguments.js')

const READ = { waitMs: check.milliseconds, ...SIGNAL }
const MESSAGES = { max: check.smallSize, ...kinds.messages, ...SIGNAL }
const readMessages = ofBytes((reader) => reader.some(made.message))

function shard(streams, streamsPerShard, shardKey) {
  const sizes = [
    check.smallSize('streams', streams),
    check.smallSize('streamsPerShard', streamsPerShard)
  ]
  const bytes = check.bytes('shardKey', shardKey)
  return atOnce(() => native.shard(...sizes, bytes))
}

class ShuffleConsumer extends handles.ShuffleConsumer {
  async read(options) {
    const [message = null] = await this.readMany(1, options)
    return message
  }

  async readMany(max, options) {
    const { waitMs, signal } = check.options(options, READ)
    check.size('max', max)
    const send = (number) => nativeOf(this).readMany(number, max, waitMs)
    return unwrap(await begin(signal, readMessages, send))
  }

  messages(options) {
    const { max = 100, ...said } = check.options(options, MESSAGES)
    return super.messages(max, said)
  }

  worker(options) {
    const said = check.options(options, kinds.shuffleWorker)
    const steps = stepsOf({ concurrency: 10, ...said })
    return new ShuffleWorker(atOnce(() => nativeOf(this).worker(steps)), said.timeoutMs)
  }
}

made.ShuffleConsumer = ShuffleConsumer

module.exports = { ShuffleConsumer, ShuffleQueue, shard }
