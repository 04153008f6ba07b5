// Jobs of a worker, and what a request says of each; see node.mjs.

import { setTimeout as sleep } from 'node:timers/promises'

import { Move, Release, Retry } from '../../../node/index.mjs'
import { made, modification } from './node_values.mjs'

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
  fail(said) {
    throw new Error(said.err)
  }
}

/** The calls of a worker; `perform` makes another request, and `attempt` makes a response of a call. */
export function workerCalls({ perform, attempt }) {
  /** What a job does before it ends. */
  async function meanwhile(job, said, docs) {
    for (const [namespace, key] of said.claim_docs ?? []) {
      docs.push(...(await job.claimDocs(namespace, key, { waitMs: said.claim_wait_ms })))
    }
    for (const request of said.run ?? []) {
      request.calls[0][1].claimant ??= job.task.claimant
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
  async function run(worker, saidOfAll) {
    const jobs = saidOfAll.values()
    const seen = []
    const onError = (_, error) => {
      seen.at(-1).told = error.code
    }
    await worker.run(async (job) => {
      const { value: said, done } = jobs.next()
      if (done) throw new Retry('no such job')
      const docs = []
      let isLost = false
      let failure
      const before = await attempt(async () => {
        try {
          await meanwhile(job, said, docs)
        } catch (error) {
          failure = error
          throw error
        }
        isLost = job.isLost
        return null
      })
      seen.push({ task: job.task, docs, is_lost: isLost, answer: before, told: null })
      if (failure !== undefined) throw failure
      return OUTCOMES[said.then](said)
    }, { onError })
    return seen
  }

  return { work, run }
}
