// Jobs of a worker, and what a request says of each; see node.mjs.

import { setTimeout as sleep } from 'node:timers/promises'

import { Move, Reject, Release, Retry } from '../../../node/index.mjs'
import { encoded, made, modification, Unsupported } from './node_values.mjs'

/** For how long a handler waits for others to be at work. */
const TOGETHER_MS = 10_000

/** The same as a handler says it. */
const OUTCOMES = {
  done: () => undefined,
  finish: (said) => modification(said.modification),
  retry(said) {
    throw new Retry(said.err, { delayMs: said.after_ms })
  },
  move(said) {
    throw new Move(said.queue, said.err)
  },
  release(said) {
    throw new Release('', { delayMs: said.after_ms })
  },
  reject(said) {
    throw new Reject(said.err)
  },
  fail(said) {
    throw new Error(said.err)
  },
  value: ({ value }) => value,
  nearly: ({ as }, job) => (as === 'builder' ? job.task.change() : (function* () {})())
}

/** What a job was taken as, by the name that this has in a response. */
const taken = ({ task, message, event }) => {
  if (event !== undefined) return { event }
  return task === undefined ? { message } : { task }
}
const key = (job) => JSON.stringify(encoded(taken(job)))

/** The calls of a worker; `perform` makes another request, and `attempt` makes a response of a call. */
export function workerCalls({ perform, attempt }) {
  /** What a job does before it ends. */
  async function meanwhile(job, said, docs) {
    for (const [namespace, keys] of said.claim_docs ?? []) {
      docs.push(...(await job.claimDocs(namespace, keys, { waitMs: said.claim_wait_ms })))
    }
    for (const request of said.run ?? []) {
      const [on, given] = request.calls[0]
      if (on === 'tasks') given.claimant ??= job.task.claimant
      await perform(request)
    }
    if (said.sleep_ms !== undefined) await sleep(said.sleep_ms)
  }

  /** Ends a job. */
  async function end(job, said) {
    const { then, claim_docs: _docs, claim_wait_ms: _wait, run: _run, sleep_ms: _sleep, ...rest } = said
    const ended = await made(job, then === 'move' ? 'move_to' : then, rest)
    return then === 'finish' ? ended : null
  }

  /** Takes jobs, and does with each as the request says. */
  async function work(worker, saidOfAll) {
    const jobs = worker.jobs()
    const seen = []
    for (const said of saidOfAll) {
      const { value: job, done } = await jobs.next()
      if (done) break
      const docs = []
      let isLost = false
      const finished = await attempt(async () => {
        await meanwhile(job, said, docs)
        isLost = job.isLost
        return end(job, said)
      })
      job.leave()
      seen.push({ task: job.task, docs, is_lost: isLost, answer: finished })
    }
    await jobs.return()
    return seen
  }

  /** The same by a handler. */
  function handling(worker, saidOfAll) {
    if (saidOfAll.some(({ as }) => as === 'plain')) throw new Unsupported('a plain object is a modification')
    const jobs = saidOfAll.values()
    const seen = []
    const atWork = { now: 0, most: 0 }
    const handler = async (job) => {
      const { value: said, done } = jobs.next()
      if (done) throw new Error('no such job')
      const one = { ...taken(job), docs: [], answer: null, kind: null, told: null }
      seen.unshift(one)
      atWork.now += 1
      atWork.most = Math.max(atWork.now, atWork.most)
      let failure
      one.answer = await attempt(async () => {
        try {
          for (let left = TOGETHER_MS; left > 0 && atWork.most < said.together; left -= 5) await sleep(5)
          await meanwhile(job, said, one.docs)
          if (said.stop_ms !== undefined) worker.stop(said.stop_ms)
          if (said.until_told_ms !== undefined) await sleep(said.until_told_ms, undefined, job)
          return null
        } catch (error) {
          failure = error
          // What a handler is aborted in has no answer.
          if (job.signal.aborted) return null
          throw error
        }
      })
      atWork.now -= 1
      const { signal } = job
      Object.assign(one, { is_lost: job.isLost, is_late: signal.reason?.name === 'TimeoutError', at_once: atWork.most })
      if (failure === undefined) return OUTCOMES[said.then](said, job)
      if (signal.aborted) one.answer = null
      throw failure
    }
    const onEvent = ({ kind, job, error }) => {
      const one = job && seen.find((one) => key(one) === key(job))
      if (one) Object.assign(one, { kind, told: error?.code ?? null })
    }
    return { handler, hooks: { onEvent, onError: () => {} }, seen }
  }

  async function run(worker, saidOfAll) {
    const { handler, hooks, seen } = handling(worker, saidOfAll)
    await worker.run(handler, hooks)
    return seen.reverse()
  }

  async function drain(worker, saidOfAll) {
    const { handler, hooks, seen } = handling(worker, saidOfAll)
    const drained = await worker.drain(handler, hooks)
    return { jobs: seen.reverse(), drained }
  }

  return { work, run, drain }
}
