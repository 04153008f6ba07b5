'use strict'

const { inspect, types } = require('node:util')

const check = require('./arguments.js')
const { atOnce, classes } = require('./errors.js')
const { isEnded } = require('./job.js')
const { Jobs } = require('./jobs.js')
const { TaskStore: Native } = require('./native.js')

const SIGNAL = { signal: check.abortSignal }
const RETRY = { delayMs: check.milliseconds, cause: (_, value) => value }

/** Thrown by a handler: try the task again later. */
class Retry extends Error {
  constructor(err = '', options = undefined) {
    const { delayMs, ...rest } = check.options(options, RETRY)
    super(check.text('err', err), rest)
    this.delayMs = delayMs
  }
}

/** Thrown by a handler: move the task to another queue. */
class Move extends Error {
  constructor(queue, err = '') {
    super(check.text('err', err))
    this.queue = check.text('queue', queue)
  }
}

/** Thrown by a handler: give the task back untried. */
class Release extends Error {}

for (const found of [Retry, Move, Release]) {
  Object.defineProperty(found.prototype, 'name', { value: found.name, configurable: true })
}

class TaskWorker {
  #native
  #queues
  #options

  constructor(native, queues, options) {
    if (!(native instanceof Native)) {
      throw new TypeError('TaskWorker has no public constructor; worker() of a TaskStore makes one')
    }
    this.#native = native
    this.#queues = queues
    this.#options = options
  }

  jobs(options) {
    const { signal } = check.options(options, SIGNAL)
    return new Jobs(atOnce(() => this.#native.jobs(this.#queues, this.#options)), signal)
  }

  async run(handler, options) {
    if (typeof handler !== 'function') throw check.wrong('handler', 'a function', handler)
    const { signal } = check.options(options, SIGNAL)
    const jobs = this.jobs({ signal })
    try {
      for await (const job of jobs) await work(job, handler, signal)
    } finally {
      await jobs.return()
    }
  }
}

/** Has a handler work on a job, and ends the job as it says. */
async function work(job, handler, signal) {
  try {
    const end = await ending(job, handler, signal)
    await end()
  } catch (error) {
    // Somebody else has the task now.
    if (!(error instanceof classes.DependencyError)) throw error
  } finally {
    job.leave()
  }
}

/** What becomes of a job: how to end it. */
async function ending(job, handler, signal) {
  try {
    const modification = (await handler(job)) ?? null
    // What a job's own method answered is no modification.
    if (isEnded(job)) return () => undefined
    return () => (modification === null ? job.done() : finish(job, modification))
  } catch (thrown) {
    if (thrown instanceof Retry) return () => job.retry(thrown.message, { delayMs: thrown.delayMs })
    if (thrown instanceof Move) return () => job.moveTo(thrown.queue, thrown.message)
    if (thrown instanceof Release || isAbort(thrown, signal)) return () => job.release()
    return () => job.retry(textOf(thrown))
  }
}

/** Ends a job with a modification. What no store could do is the handler's failure. */
async function finish(job, modification) {
  try {
    await job.finish(modification)
  } catch (error) {
    if (!(error instanceof classes.InvalidArgumentError)) throw error
    await job.retry(textOf(error))
  }
}

/** Whether a handler has stopped because all are to stop, which says nothing about the task. */
function isAbort(thrown, signal) {
  return signal?.aborted === true && (thrown === signal.reason || thrown?.name === 'AbortError')
}

/** What went wrong, for people. */
function textOf(thrown) {
  // Errors of another realm are no instances, and a DOMException is not native.
  const isError = thrown instanceof Error || types.isNativeError(thrown)
  return (isError ? `${thrown.name}: ${thrown.message}` : inspect(thrown)).toWellFormed()
}

module.exports = { Move, Release, Retry, TaskWorker }
