'use strict'

// Recruiters: the core decides which slices run, and the handlers of their jobs are called here.

const { isMainThread } = require('node:worker_threads')

const check = require('./arguments.js')
const { aborted, begin, unwrap } = require('./calls.js')
const { atOnce, errorOf } = require('./errors.js')
const { Slice, ...handles } = require('./generated/handles.js')
const kinds = require('./generated/options.js')
const { duty, made } = require('./generated/records.js')
const { nativeOf } = require('./handle.js')
const { of } = require('./reader.js')
const { stepsOf } = require('./task-arguments.js')
const { call, handling, onSignals } = require('./worker.js')

const ENLIST = { budgetMs: check.milliseconds }
const RUN = { stopOnSignals: check.flag, signal: check.abortSignal }

/** A slice or why there is none, and an error of the server or null. */
const found = of((reader) => [reader.one(), reader.maybe(() => errorOf(reader.one()))])
const readDuty = of(duty)

/** The duty of all enlistments that were dismissed for a reason. */
const dismissed = new Map()

function dismissal(why) {
  if (!dismissed.has(why)) {
    dismissed.set(why, Object.freeze({ recruited: false, job: null, tookMs: 0, why }))
  }
  return dismissed.get(why)
}

/** How many items a handler worked on. */
function itemsOf(returned) {
  if (returned === undefined || returned === null || returned === true) return 1
  return returned === false ? 0 : check.wholeNumber('what the handler returned', returned)
}

class Recruiter extends handles.Recruiter {
  #handlers = new Map()
  #hook

  install(id, options, handler) {
    check.text('id', id)
    const steps = stepsOf(check.options(options, kinds.newJob))
    handling('handler', handler)
    atOnce(() => nativeOf(this).install(id, steps))
    this.#handlers.set(id, handler)
  }

  uninstall(job) {
    const wasInstalled = super.uninstall(job)
    this.#handlers.delete(job)
    return wasInstalled
  }

  onError(hook) {
    this.#hook = handling('hook', hook)
  }

  async enlist(options) {
    const { budgetMs } = check.options(options, ENLIST)
    let slice
    try {
      slice = atOnce(() => nativeOf(this).decide(budgetMs)) ?? (await this.#ask(budgetMs))
    } catch (error) {
      // A program need not await the promise, so it does not reject.
      this.#tell(null, error)
      slice = 'unavailable'
    }
    return typeof slice === 'string' ? dismissal(slice) : this.#work(slice)
  }

  async run(options) {
    const { signal, stopOnSignals = isMainThread } = check.options(options, RUN)
    if (signal?.aborted) unwrap(aborted(signal))
    const slices = atOnce(() => nativeOf(this).slices())
    let leave
    const left = new Promise((resolve) => { leave = resolve })
    const installed = stopOnSignals ? onSignals(() => this.stop(), leave) : () => undefined
    try {
      await Promise.race([this.#workOn(slices, signal), left])
    } finally {
      installed()
      slices.end()
    }
  }

  /** Asks the server; returns a slice, or why there is none. */
  async #ask(budgetMs) {
    const send = (number) => nativeOf(this).ask(number, budgetMs)
    const [slice, error] = unwrap(await begin(undefined, found, send))
    if (error !== null) this.#tell(null, error)
    return slice
  }

  /** Works on slices until there are no more, or an error that cannot heal. */
  async #workOn(slices, signal) {
    const send = (number) => slices.next(number)
    for (;;) {
      let slice
      try {
        slice = unwrap(await begin(signal, (native) => native, send))
      } catch (error) {
        if (signal?.aborted || error.retry === 'never') throw error
        this.#tell(null, error)
        continue
      }
      if (slice === null) return
      await this.#work(slice)
    }
  }

  /** Has the job's handler do a slice, and ends it. */
  async #work(native) {
    const slice = new Slice(native)
    const { job } = slice
    // After the server was asked, the job may have been uninstalled.
    const handler = this.#handlers.get(job) ?? (() => slice.abort())
    let ended
    try {
      const items = itemsOf(await handler.call(undefined, slice))
      ended = atOnce(() => native.end(items))
    } catch (thrown) {
      ended = atOnce(() => native.fail())
      this.#tell(job, thrown)
    }
    return Object.freeze(readDuty(ended))
  }

  #tell(job, error) {
    const log = () => {
      if (job === null) console.error(`millpond: no slice: ${error.message}`)
      else console.error(`millpond: the job ${job} failed:`, error)
    }
    call(this.#hook ?? log, job, error)
  }
}

made.Recruiter = Recruiter

module.exports = { Recruiter, Slice }
