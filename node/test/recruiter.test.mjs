// Recruiters: slices of background work, done by whatever process enlists.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'

import { ClosedError, connect, ManualClock, MillpondError, Recruiter, Slice, WrongTypeError } from 'millpond'

import { sharedServer, startServers } from './servers.mjs'
import { allRefused, newName, onEveryBackend, refused, until } from './support.mjs'

const ALWAYS = { share: 1, budgetMs: 60_000 }
const DISMISSED = { recruited: false, job: null, tookMs: 0 }

/** A recruiter whose process does not rest, and waits for a server on a machine that is busy. */
function tireless(client, name) {
  const recruiter = client.recruiter(name)
  recruiter.setDutyMax(1)
  recruiter.setDecisionTimeout(1_000)
  return recruiter
}

/** The same on a clock that tests move, where the process may ask now. */
async function timed() {
  const clock = new ManualClock()
  const client = await connect('memory:', { clock })
  const recruiter = tireless(client, 'x')
  clock.advance(5_000)
  return { client, clock, recruiter }
}

/** Advances the clock until a slice runs. */
async function slice({ clock, recruiter }) {
  for (;;) {
    const duty = await recruiter.enlist()
    if (duty.job !== null) return duty
    clock.advance(100)
  }
}

/** What has been reported, once this many enlistments are; after that, the recruiter is stopped. */
async function reported(recruiter, enlisted) {
  recruiter.stop()
  let stats
  await until(async () => (stats = await recruiter.stats()).enlisted === enlisted, 'all is reported')
  return stats
}

onEveryBackend('slices by share', async ({ connect, name }) => {
  const recruiter = tireless(await connect(), name)
  const seen = []
  const handler = async (slice) => {
    const { job, budgetMs, remainingMs, isOver, fence, isLost } = slice
    assert.ok(slice instanceof Slice && remainingMs > 0 && remainingMs <= budgetMs)
    seen.push({ job, budgetMs, isOver, fence, isLost })
    return seen.length - 1
  }
  assert.equal(recruiter.install('mail', ALWAYS, handler), undefined)
  const { tookMs, ...nothing } = await recruiter.enlist()
  assert.deepEqual(nothing, { recruited: false, job: 'mail', why: 'nothing' })
  assert.ok(tookMs >= 0)
  for (const _ of [1, 2]) {
    const { tookMs: __, ...duty } = await recruiter.enlist()
    assert.deepEqual(duty, { recruited: true, job: 'mail', why: 'worked' })
  }
  const one = { job: 'mail', budgetMs: 60_000, isOver: false, fence: 0, isLost: false }
  assert.deepEqual(seen, [one, one, one])
  const { jobs, ...counts } = await reported(recruiter, 3)
  const none = { notDrawn: 0, notDue: 0, denied: 0, busy: 0, inSlice: 0, overDuty: 0, noJobs: 0, unavailable: 0 }
  assert.deepEqual(counts, { enlisted: 3, ...none })
  const { busyUs, ...job } = jobs[0]
  assert.ok(jobs.length === 1 && busyUs >= 0)
  const never = { backoff: 0, lastGrantedUs: 0, granted: 0, aborted: 0, failed: 0, overran: 0, lost: 0, late: 0 }
  assert.deepEqual(job, { job: 'mail', ...never, worked: 2, nothing: 1, items: 3 })
})

onEveryBackend('slices per second', async ({ connect, name }) => {
  const client = await connect()
  const recruiter = tireless(client, name)
  const fences = []
  recruiter.install('mail', { perSecond: 1_000, burst: 10, maxRunning: 1, leaseMs: 60_000 }, (slice) => {
    assert.equal(slice.isLost, false)
    fences.push(slice.fence)
  })
  await until(async () => {
    const { job, why } = await recruiter.enlist()
    assert.ok(job === null || why === 'worked', why)
    return fences.length === 3
  }, 'three slices')
  assert.ok(fences[0] > 0 && fences[1] > fences[0] && fences[2] > fences[1], `${fences}`)
  recruiter.stop()
  await until(async () => (await recruiter.stats()).jobs[0].worked === 3, 'all is reported')
  const { jobs: [job] } = await recruiter.stats()
  assert.deepEqual([job.job, job.granted, job.items, job.failed], ['mail', 3, 3, 0])
  assert.ok(job.lastGrantedUs > 1_600_000_000_000_000)
})

/** What handlers return, what becomes of the slice, and how many items there were, or what the error says. */
const RETURNED = [
  [undefined, 'worked', 1],
  [true, 'worked', 1],
  [1, 'worked', 1],
  [7, 'worked', 7],
  [7n, 'worked', 7],
  [false, 'nothing', 0],
  [0, 'nothing', 0],
  [-0, 'nothing', 0],
  [0n, 'nothing', 0],
  [null, 'worked', 1],
  ['1', 'failed', 'has to be a whole number, not a string'],
  [{}, 'failed', 'has to be a whole number, not Object'],
  [[], 'failed', 'has to be a whole number, not an array of 0'],
  [() => 1, 'failed', 'has to be a whole number, not a function'],
  [(function* () {})(), 'failed', 'has to be a whole number, not an object'],
  [1.5, 'failed', 'has to be a whole number, not 1.5'],
  [NaN, 'failed', 'has to be a whole number, not NaN'],
  [Infinity, 'failed', 'has to be a whole number, not Infinity'],
  [-1, 'failed', 'is negative; it has to be 0 or more'],
  [2 ** 53, 'failed', 'is 9007199254740992, which is too large']
]

test('what a handler returns', async () => {
  for (const [returned, why, items] of RETURNED) {
    for (const handler of [() => returned, async () => returned]) {
      const { recruiter } = await timed()
      const told = []
      recruiter.onError((...args) => told.push(args))
      recruiter.install('a', ALWAYS, handler)
      const what = inspect(returned)
      const recruited = why === 'worked'
      assert.deepEqual(await recruiter.enlist(), { recruited, job: 'a', tookMs: 0, why }, what)
      const { jobs: [job] } = await reported(recruiter, 1)
      const isFailure = why === 'failed'
      assert.deepEqual([job[why], job.items], [1, isFailure ? 0 : items], what)
      const expected = isFailure ? [['a', `what the handler returned ${items}`]] : []
      assert.deepEqual(told.map(([id, error]) => [id, error.message]), expected)
    }
  }
})

/** What handlers throw. */
const THROWN = [new Error('boom'), 'boom', undefined, null, Object.defineProperty(new Error(), 'message', { get: () => assert.fail() })]

test('what a handler throws', async () => {
  const handlers = THROWN.flatMap((thrown) => [
    [thrown, () => { throw thrown }],
    [thrown, async () => { throw thrown }],
    [thrown, () => Object.defineProperty({}, 'then', { get: () => { throw thrown } })]
  ])
  for (const [thrown, handler] of handlers) {
    const { recruiter } = await timed()
    const told = []
    recruiter.onError((...args) => told.push(args))
    recruiter.install('a', ALWAYS, handler)
    assert.deepEqual(await recruiter.enlist(), { recruited: false, job: 'a', tookMs: 0, why: 'failed' })
    assert.equal(told.length, 1)
    assert.ok(told[0][0] === 'a' && told[0][1] === thrown)
    // Nothing is tried again, and the next slice is like any other.
    assert.equal((await recruiter.enlist()).why, 'failed')
    assert.equal((await reported(recruiter, 2)).jobs[0].failed, 2)
  }
})

test('without a hook errors are printed', async (context) => {
  const printed = context.mock.method(console, 'error', () => {})
  const lines = () => {
    const all = printed.mock.calls.map((call) => call.arguments)
    printed.mock.resetCalls()
    return all
  }
  const { client, recruiter } = await timed()
  const boom = new Error('boom')
  recruiter.install('a', ALWAYS, () => { throw boom })
  await recruiter.enlist()
  assert.deepEqual(lines(), [['millpond: the job a failed:', boom]])
  recruiter.uninstall('a')
  recruiter.install('a', { perSecond: 1 }, () => {})
  await client.close()
  assert.equal((await recruiter.enlist()).why, 'unavailable')
  assert.deepEqual(lines(), [['millpond: no slice: recruiter.recruit: the client is closed']])
  for (const hook of [() => { throw boom }, async () => { throw boom }]) {
    const { recruiter } = await timed()
    recruiter.install('a', ALWAYS, () => 'x')
    recruiter.onError(hook)
    assert.equal((await recruiter.enlist()).why, 'failed')
    await until(() => printed.mock.callCount() > 0, 'it is printed')
    assert.deepEqual(lines(), [['millpond: a hook failed:', boom]])
  }
})

test('the budget is the lower one', async () => {
  const { clock, recruiter } = await timed()
  const seen = []
  recruiter.install('a', { share: 1, budgetMs: 50 }, (slice) => {
    seen.push(slice.budgetMs)
    clock.advance(slice.budgetMs / 2)
    assert.deepEqual([slice.remainingMs, slice.isOver], [slice.budgetMs / 2, slice.budgetMs === 0])
    clock.advance(slice.budgetMs / 2)
    assert.deepEqual([slice.remainingMs, slice.isOver], [0, true])
  })
  for (const budgetMs of [undefined, 20, 1.5, 50, 1_000, Infinity, 0]) {
    const { tookMs, why } = await recruiter.enlist({ budgetMs })
    assert.deepEqual([tookMs, why], [seen.at(-1), 'worked'])
  }
  assert.deepEqual(seen, [50, 20, 1.5, 50, 50, 50, 0])
  assert.equal((await reported(recruiter, 7)).jobs[0].overran, 0)
})

test('one slice at a time, of all recruiters of the name', async () => {
  const { url } = await sharedServer()
  const clients = [await connect(url), await connect(url)]
  const name = newName()
  const [one, other] = clients.map((client) => tireless(client, name))
  let inner
  one.install('a', ALWAYS, async () => {
    inner = await Promise.all([one.enlist(), other.enlist()])
  })
  other.install('a', ALWAYS, () => {})
  assert.equal((await one.enlist()).why, 'worked')
  assert.deepEqual(inner.map(({ why }) => why), ['in_slice', 'in_slice'])
  assert.equal((await other.enlist()).why, 'worked')
  for (const client of clients) await client.close()
})

test('an enlistment that is dismissed makes no object', async () => {
  const { clock, recruiter } = await timed()
  const twice = async (why) => {
    const [one, other] = [await recruiter.enlist(), await recruiter.enlist({ budgetMs: 5 })]
    assert.deepEqual(one, { ...DISMISSED, why })
    assert.equal(one, other)
    assert.ok(Object.isFrozen(one))
  }
  await twice('no_jobs')
  recruiter.install('a', { share: 0 }, () => assert.fail('it is never drawn'))
  await twice('not_drawn')
  recruiter.install('b', { perSecond: 1 }, () => clock.advance(10))
  recruiter.setDutyMax(0.1)
  assert.equal((await recruiter.enlist()).job, 'b')
  await twice('not_due')
  recruiter.uninstall('a')
  recruiter.install('a', { share: 1 }, () => 1)
  await twice('over_duty')
  clock.advance(90)
  assert.equal((await recruiter.enlist()).job, 'a')
  recruiter.stop()
  await twice('stopped')
})

test('a job with little to do runs less often, until it is woken', async () => {
  const { clock, recruiter } = await timed()
  let isMore = false
  recruiter.install('a', { perSecond: 1 }, (slice) => {
    if (isMore) slice.more()
    return isMore
  })
  const backoff = async () => (await recruiter.stats()).jobs[0].backoff
  const idle = async () => {
    for (let turn = 0; turn < 3; turn += 1) assert.equal((await slice({ clock, recruiter })).why, 'nothing')
    assert.ok((await backoff()) > 0)
  }
  await idle()
  assert.equal(await recruiter.wake('a'), undefined)
  assert.equal(await backoff(), 0)
  await idle()
  isMore = true
  assert.equal((await slice({ clock, recruiter })).why, 'worked')
  await until(async () => (await backoff()) === 0, 'it is reported')
})

test('a slice that was aborted says nothing of its job', async () => {
  const { clock, recruiter } = await timed()
  recruiter.install('a', { perSecond: 1 }, (slice) => {
    assert.equal(slice.abort(), undefined)
    return false
  })
  for (let turn = 0; turn < 3; turn += 1) {
    const { tookMs: _, ...duty } = await slice({ clock, recruiter })
    assert.deepEqual(duty, { recruited: false, job: 'a', why: 'aborted' })
  }
  recruiter.stop()
  await until(async () => (await recruiter.stats()).jobs[0].aborted === 3, 'all is reported')
  assert.equal((await recruiter.stats()).jobs[0].backoff, 0)
})

test('a slice can be lost', async () => {
  const { clock, recruiter } = await timed()
  recruiter.install('a', { perSecond: 1, maxRunning: 1, leaseMs: 1_000 }, (slice) => {
    clock.advance(999)
    assert.equal(slice.isLost, false)
    clock.advance(1)
    assert.ok(slice.isLost && slice.isOver)
  })
  assert.equal((await recruiter.enlist()).tookMs, 1_000)
})

test('jobs are installed once', async () => {
  const { recruiter } = await timed()
  recruiter.install('a', { share: 0.7 }, () => {})
  const again = () => recruiter.install('a', { share: 0.1 }, () => assert.fail('it is not installed'))
  assert.throws(again, refused('the job a is installed already'))
  const more = () => recruiter.install('b', { share: 0.5 }, () => assert.fail('it is not installed'))
  assert.throws(more, refused('the shares of all jobs come to 120.0000 %'))
  recruiter.install('b', { share: 0.3 }, () => {})
  for (let turn = 0; turn < 100; turn += 1) assert.equal((await recruiter.enlist()).why, 'worked')
  assert.deepEqual([recruiter.uninstall('a'), recruiter.uninstall('a'), recruiter.uninstall('b')], [true, false, true])
  assert.equal((await recruiter.enlist()).why, 'no_jobs')
  recruiter.install('a', ALWAYS, () => recruiter.uninstall('a') && 5)
  assert.deepEqual((await recruiter.enlist()).why, 'worked')
  assert.equal((await recruiter.enlist()).why, 'no_jobs')
  for (let number = 0; number < 64; number += 1) recruiter.install(`${number}`, { perSecond: 1 }, () => {})
  assert.throws(() => recruiter.install('a', ALWAYS, () => {}), refused('at most 64 jobs'))
})

const handler = () => assert.fail('it is not installed')
const CALLS = [
  [(it) => it.install(), 'id has to be a string, not undefined', TypeError],
  [(it) => it.install(5, ALWAYS, handler), 'id has to be a string, not a number', TypeError],
  [(it) => it.install('', ALWAYS, handler), 'id'],
  [(it) => it.install('a\n', ALWAYS, handler), 'id'],
  [(it) => it.install('\ud800', ALWAYS, handler), 'id has half a surrogate pair'],
  [(it) => it.install('é'.repeat(33), ALWAYS, handler), '64'],
  [(it) => it.install('a', ALWAYS), 'handler has to be a function, not undefined', TypeError],
  [(it) => it.install('a', handler), 'options has to be an object, not a function', TypeError],
  [(it) => it.install('a', handler, ALWAYS), 'options has to be an object, not a function', TypeError],
  [(it) => it.install('a', undefined, handler), 'either a share or a rate per second'],
  [(it) => it.install('a', {}, handler), 'either a share or a rate per second'],
  [(it) => it.install('a', { share: 0.1, perSecond: 1 }, handler), 'either a share or a rate per second'],
  [(it) => it.install('a', { share: '1' }, handler), 'share has to be a number, not a string', TypeError],
  [(it) => it.install('a', { share: 1n }, handler), 'share has to be a number, not a bigint', TypeError],
  [(it) => it.install('a', { share: NaN }, handler), 'the share of a is NaN'],
  [(it) => it.install('a', { share: 1.5 }, handler), 'the share of a is 1.5, not 0 to 1'],
  [(it) => it.install('a', { share: 0.5, burst: 2 }, handler), 'a runs by share'],
  [(it) => it.install('a', { share: 0.5, maxRunning: 2 }, handler), 'a runs by share'],
  [(it) => it.install('a', { perSecond: 0 }, handler), 'the rate of a is 0 a second'],
  [(it) => it.install('a', { perSecond: 1_001 }, handler), 'the rate of a is 1001 a second'],
  [(it) => it.install('a', { perSecond: Infinity }, handler), 'the rate of a is inf'],
  [(it) => it.install('a', { perSecond: 1, burst: 0 }, handler), 'the burst of a is 0'],
  [(it) => it.install('a', { perSecond: 1, burst: 1.5 }, handler), 'burst has to be a whole number, not 1.5'],
  [(it) => it.install('a', { perSecond: 1, burst: 2 ** 32 }, handler), 'burst is 4294967296, which is too large'],
  [(it) => it.install('a', { perSecond: 1, maxRunning: 1_001 }, handler), 'a has 1001 slices at a time'],
  [(it) => it.install('a', { perSecond: 1, budget: 5 }, handler), 'the option budget is not known'],
  [(it) => it.install('a', { perSecond: 1, budgetMs: '5' }, handler), 'budgetMs has to be a number of milliseconds', TypeError],
  [(it) => it.install('a', { perSecond: 1, budgetMs: -5 }, handler), 'budgetMs is -5'],
  [(it) => it.install('a', { perSecond: 1, budgetMs: 0.999 }, handler), 'the budget of a is 999µs'],
  [(it) => it.install('a', { perSecond: 1, budgetMs: Infinity }, handler), 'the budget of a is'],
  [(it) => it.install('a', { perSecond: 1, leaseMs: 49 }, handler), 'the lease of a is 49ms'],
  [(it) => it.install('a', { perSecond: 1, idleMaxMs: 3_600_001 }, handler), 'the idle_max of a is 3600.001s'],
  [(it) => it.uninstall(), 'job has to be a string', TypeError],
  [(it) => it.onError(), 'hook has to be a function', TypeError],
  [(it) => it.setDutyMax('1'), 'part has to be a number', TypeError],
  [(it) => it.setDutyMax(0), 'duty_max is 0'],
  [(it) => it.setDutyMax(1.1), 'duty_max is 1.1'],
  [(it) => it.setDutyMax(NaN), 'duty_max is NaN'],
  [(it) => it.setDecisionTimeout('5'), 'timeoutMs has to be a number of milliseconds', TypeError],
  [(it) => it.setDecisionTimeout(0), 'decision_timeout is 0ns'],
  [(it) => it.setDecisionTimeout(1_000.5), 'decision_timeout is 1.0005s']
]
const PROMISES = [
  [(it) => it.enlist(5), 'options has to be an object, not a number', TypeError],
  [(it) => it.enlist({ budget: 5 }), 'the option budget is not known'],
  [(it) => it.enlist({ budgetMs: '5' }), 'budgetMs has to be a number of milliseconds', TypeError],
  [(it) => it.enlist({ budgetMs: -1 }), 'budgetMs is -1'],
  [(it) => it.run({ stopOnSignals: 1 }), 'stopOnSignals has to be true or false', TypeError],
  [(it) => it.run({ signal: {} }), 'signal has to be an AbortSignal', TypeError],
  [(it) => it.run({ stopWithinMs: 1 }), 'the option stopWithinMs is not known'],
  [(it) => it.wake(), 'job has to be a string', TypeError]
]

test('wrong arguments', async () => {
  const { client, recruiter } = await timed()
  for (const [call, message, Kind] of CALLS) assert.throws(() => call(recruiter), refused(message, Kind), message)
  await allRefused(PROMISES, recruiter)
  assert.equal((await recruiter.enlist()).why, 'no_jobs')
  assert.throws(() => client.recruiter(7), refused('name has to be a string or a Uint8Array', TypeError))
  for (const name of ['', 'x'.repeat(65_537)]) {
    const named = client.recruiter(name)
    assert.throws(() => named.install('a', ALWAYS, handler), refused('name'))
    assert.equal((await named.enlist()).why, 'no_jobs')
    await assert.rejects(named.stats(), refused('name'))
  }
  for (const [Made, message] of [
    [Recruiter, /recruiter\(\) of a Client makes one/],
    [Slice, /a recruiter makes one/]
  ]) {
    assert.throws(() => new Made(), { name: 'TypeError', message })
  }
})

onEveryBackend('a run works until it is stopped', async ({ connect, name }) => {
  const recruiter = tireless(await connect(), name)
  let count = 0
  recruiter.install('a', { perSecond: 1_000 }, async () => {
    count += 1
    // Any call of the event loop may stop it.
    if (count === 3) setImmediate(() => recruiter.stop())
  })
  assert.equal(await recruiter.run(), undefined)
  assert.ok(count >= 3)
  assert.equal((await recruiter.enlist()).why, 'stopped')
  const before = count
  assert.equal(await recruiter.run(), undefined)
  assert.equal(count, before)
})

test('a stop ends a run that waits, and is of one object', async () => {
  const { client, clock, recruiter } = await timed()
  const other = tireless(client, 'x')
  for (const one of [recruiter, other]) one.install('a', { perSecond: 1 / 86_400 }, () => 1)
  assert.equal((await recruiter.enlist()).why, 'worked')
  const ran = [recruiter.run(), other.run()]
  setTimeout(() => recruiter.stop(), 20)
  await ran[0]
  assert.equal((await recruiter.enlist()).why, 'stopped')
  assert.equal((await other.enlist()).why, 'not_due')
  clock.advance(86_400_000)
  await until(async () => (await other.stats()).jobs[0].granted === 2, 'the other works')
  other.stop()
  await ran[1]
})

test('a signal ends a run, and not the recruiter', async () => {
  const { clock, recruiter } = await timed()
  const reason = new RangeError('no more time')
  const isReason = (error) => error === reason
  let isDone = false
  const controller = new AbortController()
  recruiter.install('a', { perSecond: 1 }, async () => {
    controller.abort(reason)
    await new Promise(setImmediate)
    isDone = true
  })
  await assert.rejects(recruiter.run({ signal: AbortSignal.abort(reason) }), isReason)
  await assert.rejects(recruiter.run({ signal: controller.signal }), isReason)
  assert.ok(isDone)
  await assert.rejects(recruiter.run({ signal: AbortSignal.timeout(20) }), { name: 'TimeoutError' })
  assert.equal((await slice({ clock, recruiter })).why, 'worked')
})

test('what cannot heal ends a run', async () => {
  const { client, clock, recruiter } = await timed()
  recruiter.onError(assert.fail)
  const needs = { name: 'InvalidArgumentError', message: /needs a job per second/ }
  await assert.rejects(recruiter.run(), needs)
  recruiter.install('a', ALWAYS, () => 1)
  await assert.rejects(recruiter.run(), needs)
  recruiter.install('b', { perSecond: 1 }, () => 1)
  recruiter.uninstall('a')
  const running = recruiter.run()
  await client.close()
  // It finds that out when it may ask again.
  clock.advance(60_000)
  await assert.rejects(running, ClosedError)
})

test('keys of another type', async () => {
  const { url } = await sharedServer()
  const name = newName()
  const client = await connect(url)
  await client.ick(`{${name}}:steal`).add(['a'])
  const recruiter = tireless(client, name)
  recruiter.install('a', { perSecond: 1 }, () => assert.fail('it cannot be granted'))
  const told = []
  recruiter.onError((...args) => told.push(args))
  await until(() => recruiter.isDue, 'it may ask')
  assert.deepEqual(await recruiter.enlist(), { ...DISMISSED, why: 'unavailable' })
  assert.deepEqual(told.map(([job, error]) => [job, error.constructor]), [[null, WrongTypeError]])
  await assert.rejects(recruiter.run(), WrongTypeError)
  await assert.rejects(recruiter.stats(), WrongTypeError)
  await assert.rejects(recruiter.wake('a'), WrongTypeError)
  assert.equal(told.length, 1)
  await client.close()
})

test('a server that is unreachable, or does not respond', { timeout: 120_000 }, async () => {
  const server = await startServers()
  await server.run('stop')
  for (const url of ['redis://127.0.0.1:1', server.url]) {
    const client = await connect(url)
    const recruiter = client.recruiter('x')
    const told = []
    recruiter.onError((...args) => told.push(args))
    recruiter.install('a', { perSecond: 1 }, () => assert.fail('it cannot be granted'))
    await until(() => recruiter.isDue, 'it may ask')
    assert.deepEqual(await recruiter.enlist(), { ...DISMISSED, why: 'unavailable' })
    assert.ok(told[0][0] === null && told[0][1] instanceof MillpondError && told[0][1].retry !== 'never', told[0])
    // It is left alone for a while.
    assert.equal(recruiter.isDue, false)
    assert.equal((await recruiter.enlist()).why, 'not_due')
    assert.equal(told.length, 1)
    // What needs no server goes on.
    recruiter.uninstall('a')
    recruiter.install('b', ALWAYS, () => 1)
    assert.equal((await recruiter.enlist()).why, 'worked')
    await client.close()
  }
  await server.run('cont')
  await server.stop()
})

test('a run goes on when its server was away', { timeout: 120_000 }, async () => {
  const server = await startServers()
  const client = await connect(server.url)
  const recruiter = tireless(client, 'x')
  let count = 0
  const told = []
  recruiter.install('a', { perSecond: 10 }, () => { count += 1 })
  recruiter.onError((...args) => told.push(args))
  const ran = recruiter.run()
  await until(() => count > 0, 'a slice')
  await server.run('kill')
  await until(() => told.length > 0, 'it is told')
  await server.run('restart')
  const before = count
  await until(() => count > before, 'another slice')
  recruiter.stop()
  await ran
  for (const [job, error] of told) {
    assert.ok(job === null && error instanceof MillpondError && error.retry !== 'never', error)
  }
  await client.close()
  await server.stop()
})

/** A program that runs one slice, whose handler is this one, and prints what is left at its end. */
function startProgram(handler) {
  const source = `
import { connect, ManualClock } from 'millpond'
const clock = new ManualClock()
const client = await connect('memory:', { clock })
const recruiter = client.recruiter('x')
recruiter.install('a', { perSecond: 1 }, async () => {
  console.log('begun')
  await (${handler})()
  console.log('done')
})
clock.advance(5_000)
await recruiter.run()
console.log(process.listenerCount('SIGTERM'), (await recruiter.enlist()).why)
clearInterval(globalThis.timer)
`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit']
  })
  child.stdout.setEncoding('utf8')
  return child
}

for (const [title, handler, signals, printed] of [
  ['ends a run after its slice', () => new Promise((resolve) => setTimeout(resolve, 100)), ['SIGTERM'], 'begun\ndone\n0 stopped\n'],
  ['that is the second does not wait', () => new Promise(() => { globalThis.timer = setInterval(() => {}, 1_000) }), ['SIGINT', 'SIGTERM'], 'begun\n0 stopped\n']
]) {
  test(`a system signal ${title}`, async () => {
    const child = startProgram(handler)
    const ended = once(child, 'close')
    let text = ''
    child.stdout.on('data', (data) => {
      text += data
      if (text !== 'begun\n') return
      signals.forEach((name, number) => setTimeout(() => child.kill(name), 100 * number))
    })
    assert.deepEqual(await ended, [0, null])
    assert.equal(text, printed)
  })
}

test('a handler that ends the program', async () => {
  const child = startProgram(() => process.exit(7))
  let text = ''
  child.stdout.on('data', (data) => { text += data })
  assert.deepEqual(await once(child, 'close'), [7, null])
  assert.equal(text, 'begun\n')
})
