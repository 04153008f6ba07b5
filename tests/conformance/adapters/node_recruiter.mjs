// Recruiters, and what a request says of their handlers; see node.mjs.

import { setTimeout as sleep } from 'node:timers/promises'

import { MillpondError } from '../../../node/index.mjs'
import { encoded, made } from './node_values.mjs'

/**
 * A recruiter, and what its handlers and its hook have noted during the calls that are made; `perform` makes another
 * request.
 */
export class Noted {
  #recruiter
  #perform
  #notes = { slices: [], errors: [] }

  constructor(recruiter, perform) {
    this.#recruiter = recruiter
    this.#perform = perform
    recruiter.onError((job, error) => {
      const name = error instanceof MillpondError ? error.code : null
      this.#notes.errors.push({ job, name, message: error.message })
    })
  }

  /** Makes one call. */
  called(call, given) {
    const own = { install: this.#install, enlist: this.#enlist, run: this.#run }[call]
    return own === undefined ? made(this.#recruiter, call, given) : own.call(this, given)
  }

  #install({ handler: turns, ...given }) {
    let count = 0
    const handler = (slice) => {
      const turn = turns[Math.min(count, turns.length - 1)]
      count += 1
      return this.#takeTurn(slice, turn)
    }
    return made(this.#recruiter, 'install', { ...given, handler })
  }

  /** Does a slice. */
  async #takeTurn(slice, turn) {
    if (turn.sleep_ms !== undefined) await sleep(turn.sleep_ms)
    const ran = []
    for (const request of turn.run ?? []) ran.push(await this.#perform(request))
    if (turn.more) slice.more()
    if (turn.abort) slice.abort()
    this.#notes.slices.push({ ...encoded(slice), ran })
    if (turn.raises !== undefined) throw new Error(turn.raises)
    return turn.returns
  }

  async #enlist({ times = 1, ...given }) {
    const [duties, taken] = [[], this.#taking()]
    for (let left = times; left > 0; left -= 1) duties.push(await made(this.#recruiter, 'enlist', given))
    return { duties, ...taken() }
  }

  async #run(given) {
    const taken = this.#taking()
    await made(this.#recruiter, 'run', given)
    return taken()
  }

  /** Takes what is noted from now on: a call in a slice leaves what was noted before it. */
  #taking() {
    const { slices, errors } = this.#notes
    const begin = [slices.length, errors.length]
    return () => ({ slices: slices.splice(begin[0]), errors: errors.splice(begin[1]) })
  }
}
