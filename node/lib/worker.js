'use strict'

// Workers: the loop that calls handlers. The core takes jobs, ends them, and continues through outages.

const process = require('node:process')
// Taken once: tests replace the timers of the module with fake ones.
const { clearTimeout, setTimeout } = require('node:timers')
const { inspect, types } = require('node:util')
const { isMainThread } = require('node:worker_threads')

const check = require('./arguments.js')
const { aborted, begin, unwrap } = require('./calls.js')
const { classes, errorOf } = require('./errors.js')
const { abort, Handle, nativeOf } = require('./handle.js')
const { jobCounts } = require('./generated/records.js')
const { ofBytes } = require('./reader.js')
const { Entries } = require('./task-arguments.js')

const STOP_WITHIN = 25_000
const HOOKS = { onError: handling, onEvent: handling }
const RUN = {
  ...HOOKS,
  stopOnSignals: check.flag,
  stopWithinMs: check.milliseconds,
  signal: check.abortSignal
}
const DELAY = { delayMs: check.milliseconds }
const CAUSE = { cause: (_, value) => value }

class Retry extends Error {
  constructor(err = '', options = undefined) {
    const { delayMs, ...rest } = check.options(options, { ...DELAY, ...CAUSE })
    super(check.text('err', err), rest)
    this.delayMs = delayMs
  }
}

class Move extends Error {
  constructor(queue, err = '') {
    super(check.text('err', err))
    this.queue = check.text('queue', queue)
  }
}

class Reject extends Error {
  constructor(err = '', options = undefined) {
    super(check.text('err', err), check.options(options, CAUSE))
  }
}

class Release extends Error {
  constructor(message = '', options = undefined) {
    super(check.text('message', message))
    this.delayMs = check.options(options, DELAY).delayMs
  }
}

for (const found of [Retry, Move, Reject, Release]) {
  Object.defineProperty(found.prototype, 'name', { value: found.name, configurable: true })
}

/** How a job ends, for the native half. */
function outcome(...parts) {
  const entries = new Entries()
  entries.push(...parts.filter((part) => part !== undefined))
  return entries
}

/** How a job ends by one of these classes; undefined for any other value. */
function decided(said) {
  if (said instanceof Retry) return outcome('retry', said.message, said.delayMs)
  if (said instanceof Move) return outcome('move', said.queue, said.message)
  if (said instanceof Reject) return outcome('reject', said.message)
  if (said instanceof Release) return outcome('release', said.delayMs)
  return undefined
}

class Report {
  constructor(reader, job) {
    this.kind = reader.one()
    this.isTrouble = reader.one()
    this.message = reader.one()
    this.error = reader.maybe(() => errorOf(reader.one()))
    this.job = reader.maybe(job)
  }
}

/** What the workers of all queues have in common. */
class Worker extends Handle {
  #kind
  #timeoutMs

  /**
   * `kind` is what differs between queues: `job` reads a job from a list, `name` names it, and `finish` adds the return
   * value of a handler to the entries, if it is a modification, and refuses a value that is neither that nor a result.
   */
  constructor(native, Native, method, kind, timeoutMs) {
    super(native, Native, method)
    this.#kind = { ...kind, read: reading(kind.job) }
    this.#timeoutMs = timeoutMs
  }

  stop(withinMs = STOP_WITHIN) {
    nativeOf(this).stop(check.milliseconds('withinMs', withinMs))
  }

  async run(handler, options) {
    handling('handler', handler)
    const { signal, stopOnSignals, stopWithinMs, ...hooks } = check.options(options, RUN)
    if (signal?.aborted) unwrap(aborted(signal))
    const run = nativeOf(this).start(hooks.onEvent !== undefined)
    const stop = () => this.stop(stopWithinMs)
    const installed = (stopOnSignals ?? isMainThread) ? onSignals(stop, () => this.stop(0)) : () => undefined
    signal?.addEventListener('abort', stop)
    let counts
    try {
      counts = await this.#work(run, handler, hooks, signal)
    } finally {
      signal?.removeEventListener('abort', stop)
      installed()
    }
    if (signal?.aborted) unwrap(aborted(signal))
    return counts
  }

  async drain(handler, options) {
    handling('handler', handler)
    const hooks = check.options(options, HOOKS)
    return this.#work(nativeOf(this).startDrain(hooks.onEvent !== undefined), handler, hooks)
  }

  /** Works until the run is over; returns what it did. */
  async #work(run, handler, hooks, signal) {
    const working = new Working(run, handler, hooks, { ...this.#kind, timeoutMs: this.#timeoutMs, signal })
    const send = (number) => run.next(number)
    for (;;) {
      const found = unwrap(await begin(undefined, this.#kind.read, send))
      if (!Array.isArray(found)) {
        working.close()
        return found
      }
      for (const event of found) working.handle(event)
    }
  }
}

/** How the events of a run are read; if there are none, the run is over, and this is what it did. */
function reading(job) {
  const event = (reader) => (reader.one() ? new Report(reader, job) : job(reader))
  return ofBytes((reader) => {
    const events = reader.some(event)
    return events.length === 0 ? jobCounts(reader) : events
  })
}

const SIGNALS = ['SIGTERM', 'SIGINT']

/** For each worker that runs, what the next system signal calls. */
const onSignal = new Set()

/** One listener for all workers, because Node reports more than ten listeners as a leak. */
function signalled() {
  for (const stop of [...onSignal]) stop()
}

/** Makes the first system signal call `stop`, and further ones `again`; returns a function that undoes this. */
function onSignals(stop, again) {
  let next = stop
  const stopping = () => {
    const now = next
    next = again
    now()
  }
  if (onSignal.size === 0) SIGNALS.forEach((name) => process.on(name, signalled))
  onSignal.add(stopping)
  return () => {
    onSignal.delete(stopping)
    if (onSignal.size === 0) SIGNALS.forEach((name) => process.off(name, signalled))
  }
}

/** A handler that works on the jobs of a run. */
class Working {
  #run
  #handler
  #hooks
  #kind
  /** What handlers threw in last attempts, by the names of their jobs: the cause of the report that one is put aside. */
  #causes = new Map()

  constructor(run, handler, hooks, kind) {
    this.#run = run
    this.#handler = handler
    this.#hooks = hooks
    this.#kind = kind
  }

  handle(event) {
    if (event instanceof Report) this.#report(event)
    else this.#begin(event)
  }

  #begin(job) {
    let result
    try {
      result = this.#handler.call(undefined, job)
    } catch (thrown) {
      this.#failed(job, thrown)
      return
    }
    let isPromise
    try {
      isPromise = typeof result?.then === 'function'
    } catch (thrown) {
      this.#failed(job, thrown)
      return
    }
    if (!isPromise) {
      this.#returned(job, result)
      return
    }
    const { timeoutMs } = this.#kind
    const promise = timeoutMs === undefined ? Promise.resolve(result) : within(timeoutMs, job, result)
    promise.then((value) => this.#returned(job, value), (thrown) => this.#failed(job, thrown))
  }

  #returned(job, value) {
    let end
    try {
      end = this.#outcome(value)
    } catch (wrong) {
      this.#failed(job, wrong)
      return
    }
    this.#end(job, end)
  }

  /** How a job ends by the return value of its handler; undefined if that value says nothing about it. */
  #outcome(value) {
    if (typeof value !== 'object' || value === null) return undefined
    if (types.isGeneratorObject(value)) {
      throw new TypeError('the handler returned a generator, which nobody runs: it has to be a function')
    }
    return decided(value) ?? this.#kind.finish(value, outcome('finish'))
  }

  /** Reports what was thrown in last attempts that put no job aside. The run is over. */
  close() {
    for (const { job, thrown } of this.#causes.values()) {
      if (!(thrown instanceof Reject)) this.#tell(job, thrown)
    }
  }

  #failed(job, thrown) {
    const end = decided(thrown) ?? (isAbort(thrown, this.#kind.signal) ? outcome('release', 0) : undefined)
    // The lost lease is already reported; a handler that stopped because of it has not failed.
    const isHeeded = end === undefined && job.isLost && isAbort(thrown, job.signal)
    const isTold = end === undefined && !isHeeded && !isTaken(thrown)
    const isLast = thrown instanceof Reject || (isTold && job.isLastAttempt)
    if (isLast) this.#causes.set(this.#kind.name(job), { job, thrown })
    this.#end(job, end ?? outcome('fail', textOf(thrown)))
    if (isTold && !isLast) this.#tell(job, thrown)
  }

  #tell(job, thrown) {
    const log = () => console.error(`millpond: ${this.#kind.name(job)} failed:`, thrown)
    call(this.#hooks.onError ?? log, job, thrown)
  }

  #end(job, end) {
    this.#run.end(nativeOf(job), end)
  }

  #report(report) {
    const { onError, onEvent } = this.#hooks
    if (onEvent !== undefined) call(onEvent, report)
    if (!report.isTrouble) return
    const { error, job } = report
    const name = report.kind === 'dead' && job ? this.#kind.name(job) : undefined
    const cause = this.#causes.get(name)
    this.#causes.delete(name)
    if (cause !== undefined) error.cause = cause.thrown
    const log = () => {
      const why = cause === undefined || cause.thrown instanceof Reject ? [] : [cause.thrown]
      // Standard output is the program's own.
      console.error(`millpond: ${report.message}`, ...why)
    }
    call(onError ?? log, job, error)
  }
}

/** Why the worker no longer waits for a handler's promise. */
class Timeout extends Error {
  constructor(timeoutMs) {
    super(`timeout: it took longer than ${timeoutMs} ms`)
    this.name = 'TimeoutError'
  }
}

/** A handler's promise; after this time it is rejected and the job's signal is aborted. */
async function within(timeoutMs, job, promise) {
  let timer
  const late = new Promise((_, reject) => {
    const abandon = () => {
      const timeout = new Timeout(timeoutMs)
      abort(job, timeout)
      reject(timeout)
    }
    // The longest timer that Node supports.
    timer = setTimeout(abandon, Math.min(timeoutMs, 2 ** 31 - 1))
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Calls a hook; an exception is logged. */
async function call(hook, ...args) {
  try {
    await hook(...args)
  } catch (thrown) {
    console.error('millpond: a hook failed:', thrown)
  }
}

function handling(argument, value) {
  if (typeof value !== 'function') throw check.wrong(argument, 'a function', value)
  return value
}

/** Whether a handler has stopped because this signal told it to. */
function isAbort(thrown, signal) {
  if (signal?.aborted !== true) return false
  try {
    return thrown === signal.reason || thrown?.name === 'AbortError'
  } catch {
    return false
  }
}

/** Whether documents that the job needs were held by others, which is no failure. */
function isTaken(thrown) {
  return thrown instanceof classes.DependencyError && thrown.operation === 'tasks.claim_docs'
}

/** What went wrong, for people. */
function textOf(thrown) {
  if (thrown instanceof Timeout) return thrown.message
  try {
    // Errors of another realm are not instances of Error, and a DOMException is not a native error.
    const isError = thrown instanceof Error || types.isNativeError(thrown)
    return (isError ? `${thrown.name}: ${thrown.message}` : inspect(thrown)).toWellFormed()
  } catch {
    return 'what was thrown has no text that can be read'
  }
}

module.exports = { call, handling, Move, onSignals, Reject, Release, Retry, Worker }
