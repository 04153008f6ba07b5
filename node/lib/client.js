'use strict'

const check = require('./arguments.js')
const { begin, native, unwrap } = require('./calls.js')
const { clockOf } = require('./clock.js')
const { atOnce, invalid } = require('./errors.js')
const { SIGNAL, ...handles } = require('./generated/handles.js')
const kinds = require('./generated/options.js')
const { recovery } = require('./generated/records.js')
const { nativeOf } = require('./handle.js')
const { of } = require('./reader.js')
const { nothing } = require('./results.js')
const { stepsOf } = require('./task-arguments.js')

const CONNECT = {
  ...kinds.options,
  timeoutMs: check.someMilliseconds,
  connectTimeoutMs: check.someMilliseconds,
  returnBuffers: check.flag,
  username: check.text,
  password: check.text,
  clock: clockOf,
  ...SIGNAL
}
const readRecovery = of((reader) => reader.maybe(recovery))

async function connect(url, options) {
  check.text('url', url)
  const { returnBuffers = false, username, password, clock, signal, ...said } = check.options(options, CONNECT)
  if (username !== undefined && password === undefined) {
    throw invalid('username goes with a password')
  }
  const send = (number) => native.connect(number, url, !returnBuffers, stepsOf(said), username, password, clock)
  return unwrap(await begin(signal, (made) => warned(new Client(made)), send))
}

function warned(client) {
  for (const text of client.recovery()?.warnings ?? []) {
    process.emitWarning(text, 'MillpondWarning')
  }
  return client
}

class Client extends handles.Client {
  recovery() {
    return readRecovery(atOnce(() => nativeOf(this).recovery()))
  }

  async close(options) {
    const { signal } = check.options(options, SIGNAL)
    return unwrap(await begin(signal, nothing, (number) => nativeOf(this).close(number)))
  }

  [Symbol.asyncDispose]() {
    return this.close()
  }
}

module.exports = { connect, Client }
