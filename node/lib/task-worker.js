'use strict'

const process = require('node:process')
const { inspect, types } = require('node:util')

const check = require('./arguments.js')
const { atOnce, classes, isWrongArgument } = require('./errors.js')
const { Jobs } = require('./loops.js')
const { TaskStore: Native } = require('./native.js')

const SIGNAL = { signal: check.abortSignal }
const RUN = { onError: handling, ...SIGNAL }
const DELAY = { delayMs: check.milliseconds }
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

/** Thrown by a handler: release the task without counting an attempt. */
class Release extends Error {
  constructor(message = '', options = undefined) {
    super(check.text('message', message))
    this.delayMs = check.options(options, DELAY).delayMs
  }
}

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
    handling('handler', handler)
    const { onError = warn, signal } = check.options(options, RUN)
    const jobs = this.jobs({ signal })
    try {
      for await (const job of jobs) await work(job, handler, onError, signal)
    } finally {
      await jobs.return()
    }
  }
}

/** Has a handler work on a job, and ends the job as it says. */
async function work(job, handler, onError, signal) {
  try {
    const end = await ending(job, handler, signal)
    try {
      await end()
    } catch (error) {
      if (!(error instanceof classes.DependencyError || isWrongArgument(error))) throw error
      await giveBack(job, error)
      await onError(job, error)
    }
  } finally {
    job.leave()
  }
}

/** Releases the task of a job that could not end as its handler said. */
async function giveBack(job, error) {
  try {
    await job.fail(textOf(error))
  } catch (again) {
    // Another claimant has the task now.
    if (!(again instanceof classes.DependencyError)) throw again
  }
}

/** Emits a warning about such a job. */
function warn({ task }, error) {
  const message = `the end of task ${task.id} of queue ${task.queue} was refused: ${error.message}`
  process.emitWarning(message, 'MillpondWarning')
}

function handling(argument, value) {
  if (typeof value !== 'function') throw check.wrong(argument, 'a function', value)
  return value
}

/** How to end a job. */
async function ending(job, handler, signal) {
  try {
    const modification = (await handler(job)) ?? null
    // What a job's own method returned is no modification.
    if (job.isEnded) return () => undefined
    return () => (modification === null ? job.done() : job.finish(modification))
  } catch (thrown) {
    if (job.isEnded) return () => undefined
    if (thrown instanceof Retry) return () => job.retry(thrown.message, { delayMs: thrown.delayMs })
    if (thrown instanceof Move) return () => job.moveTo(thrown.queue, thrown.message)
    if (thrown instanceof Release) return () => job.release({ delayMs: thrown.delayMs })
    if (isAbort(thrown, signal)) return () => job.release({ delayMs: 0 })
    return () => job.fail(textOf(thrown))
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
